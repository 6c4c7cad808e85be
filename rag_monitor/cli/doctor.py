"""`rag-monitor doctor`: is everything in place?"""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rag_monitor import __version__
from rag_monitor.cli.judging import create_judge
from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import Language, LanguageOption, chosen, told
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.evaluation.problems import problem
from rag_monitor.judges.judge import InspectableJudge
from rag_monitor.language.compiled import COMPILED

if TYPE_CHECKING:
    from rag_monitor.alerting.notifiers.notifier import Notifier
    from rag_monitor.domain.alert import AlertRule
    from rag_monitor.domain.clock import SharedClock
    from rag_monitor.store.store import Store

_LATELY: Final = timedelta(days=1)
_MINIMUM: Final = (3, 11)
_PARKED_SHOWN: Final = 3
_OPTIONAL: Final = {
    "openai": "openai",
    "psycopg": "postgresql",
    "torch": "gpu",
    "transformers": "gpu",
    "pyarrow": "parquet",
}
"""Distribution to the extra that brings it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    """What was found and, when it is not ok, how to mend it."""
    looked_at: bool = True
    """False: nothing can be said of it before something else is mended."""


def doctor(
    injection: Annotated[
        bool, typer.Option("--injection", help="Attack the configured judge instead and report.")
    ] = False,
    families: Annotated[
        Path | None,
        typer.Option("--families", help="With --injection: attacks of your own (JSON)."),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option("--notify", help="Send a test alert and its end to a channel, or to all."),
    ] = None,
    config: ConfigPath = None,
    language: LanguageOption = Language.EN,
    as_json: AsJson = False,
) -> None:
    """Check installation, configuration, database and judge; exit 1 when one is not in order.

    With --notify a test alert and its resolution are sent to a channel; they say that they are a
    test. With --injection every attack is put to the judge beside a harmless text of the same
    length; the calls cost what judging costs.
    """
    del language  # chosen for all that is said below
    if injection:
        from rag_monitor.cli.injection import report_injection

        report_injection(load(config), families, as_json)
        return
    if families is not None:
        raise ConfigurationError("--families goes with --injection")
    if notify is not None:
        _end(_trials(load(config), notify), as_json)
        return
    checks = [_python(), _compiled(), *_extras()]
    try:
        settings = load(config)
    except ConfigurationError as error:
        checks.append(Check("configuration", ok=False, detail=_mended(error)))
    else:
        checks.append(Check("configuration", ok=True, detail=told("read")))
        checks.append(_tried("database", lambda: _database(settings)))
        checks.append(_below(checks, "queue", lambda: _queue(settings)))
        checks.append(_tried("judge", lambda: _judge(settings)))
        checks.append(_tried("channels", lambda: _channels(settings)))
        checks.append(_below(checks, "messages", lambda: _messages(settings)))
        checks.append(_below(checks, "rules", lambda: _rules(settings)))
    _end(checks, as_json)


def _end(checks: list[Check], as_json: bool) -> None:
    report(checks, as_json)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def report(checks: list[Check], as_json: bool) -> None:
    """Print what was found."""
    if as_json:
        print_json(
            {
                "version": __version__,
                "ok": all(check.ok for check in checks),
                "checks": [asdict(check) for check in checks],
            }
        )
        return
    print_line(f"rag-monitor {__version__}")
    for check in checks:
        comma = "：" if chosen() is Language.ZH else ": "
        state = told("ok" if check.ok else "BAD") if check.looked_at else "--"
        print_line(f"{state:<3}  {_named(check.name)}{comma}{check.detail}")


def _named(name: str) -> str:
    """What was looked at, in words; distributions are called as they are."""
    head, _, channel = name.partition(" ")
    if channel:
        return told("channel {name}", name=channel)
    return name if head in _OPTIONAL or head == "python" else told(name)


def _mended(error: Exception) -> str:
    return problem(str(error), chosen())


def _python() -> Check:
    ok = sys.version_info >= _MINIMUM
    found = platform.python_version()
    if not ok:
        wanted = ".".join(map(str, _MINIMUM))
        found = told("{found}; rag-monitor needs {wanted} or newer", found=found, wanted=wanted)
    return Check("python", ok=ok, detail=found)


def _compiled() -> Check:
    if COMPILED is None:
        found = told(
            "no: the embedded judge takes about three times as long; install a C compiler"
            " and rag-monitor anew"
        )
    else:
        found = told("yes")
    return Check("compiled", ok=True, detail=found)


def _extras() -> list[Check]:
    return [_extra(name, extra) for name, extra in _OPTIONAL.items()]


def _extra(distribution: str, extra: str) -> Check:
    try:
        found = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        found = told("not installed (optional: pip install 'rag-monitor[{extra}]')", extra=extra)
    return Check(distribution, ok=True, detail=found)


def _tried(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, ok=True, detail=look())
    except RagMonitorError as error:
        return Check(name, ok=False, detail=_mended(error))


def _below(checks: list[Check], name: str, look: Callable[[], str]) -> Check:
    """What can only be looked at in the database: where that fails, its cause is told once.

    A database that takes nothing in can still be read, and is.
    """
    (database,) = (check for check in checks if check.name == "database")
    if all(check.looked_at for check in checks):
        found = _tried(name, look)
        if database.ok or found.detail != database.detail:
            return found
    detail = told("not looked at before the database is in order")
    return Check(name, ok=False, detail=detail, looked_at=False)


def _database(settings: Any) -> str:
    from rag_monitor.domain.clock import SharedClock
    from rag_monitor.store import migration
    from rag_monitor.store.lockfile import require_writable

    if missing := migration.not_yet_made(settings.database_url):
        require_writable(Path(missing))
        text = "no file {path} yet; `rag-monitor serve` or `migrate` makes it"
        return told(text, path=missing)
    revision, head = migration.known(settings.database_url), migration.head()
    if revision is None:
        text = "reachable, empty; `rag-monitor serve` or `migrate` brings it to {head}"
        return told(text, head=head)
    if revision != head:
        text = "the schema is at {revision}, this release needs {head}: run `rag-monitor migrate`"
        raise ConfigurationError(told(text, revision=revision, head=head))
    with _store(settings, SharedClock()) as store:
        store.try_writing()
    found = told("reachable, schema {revision}", revision=revision)
    exposed = migration.exposed(settings.database_url)
    return _both(found, exposed)


def _queue(settings: Any) -> str:
    """What waits to be judged, and what was given up."""
    from rag_monitor.domain.clock import SharedClock

    if reason := _not_looked_at(settings):
        return reason
    clock = SharedClock()
    with _store(settings, clock) as store:
        backlog = store.tasks.backlog(clock.now())
        parked = store.tasks.parked(_PARKED_SHOWN)
    if parked:
        one = "{project}/{trace} ({reason})"
        named = ", ".join(
            told(one, project=task.project, trace=task.trace_id, reason=task.reason)
            for task in parked
        )
        raise ConfigurationError(
            told(
                "{count} traces were given up, the latest {named}; look at what is special about "
                "them, then judge them again with `rag-monitor backfill`",
                count=backlog.parked,
                named=named,
            )
        )
    found = []
    if backlog.waiting:
        text = "{count} traces wait to be judged, the oldest for {age:.0f} s"
        found.append(told(text, count=backlog.waiting, age=backlog.oldest_age_s))
    if backlog.drawn:
        text = "{count} traces wait for the judge they were drawn for, the oldest for {age:.0f} s"
        found.append(told(text, count=backlog.drawn, age=backlog.drawn_age_s))
    mark = "；" if chosen() is Language.ZH else "; "
    return mark.join(found) or told("nothing waits to be judged")


def _not_looked_at(settings: Any) -> str | None:
    """Why nothing can be read from the database yet; None: it can."""
    from rag_monitor.store import migration

    if migration.not_yet_made(settings.database_url):
        return told("not looked at before there is a database")
    if migration.current(settings.database_url) != migration.head():
        return told("not looked at before the schema is this release's")
    return None


def _store(settings: Any, clock: SharedClock) -> Store:
    """The database beside a server that may run on it."""
    from rag_monitor.store.store import Store

    return Store.open(replace(settings.store_options, exclusive=False, auto_migrate=False), clock)


def _rules(settings: Any) -> str:
    """Whether every rule reaches the channels it names, and watches an app that there is."""
    from rag_monitor.alerting.unseen import warnings_of
    from rag_monitor.domain.clock import SharedClock

    if reason := _not_looked_at(settings):
        return reason
    channels = _built(settings)
    with _store(settings, SharedClock()) as store:
        rules = [rule for rule in store.rules.all() if rule.enabled]
        apps = {project: store.traces.app_names(project) for project in _projects(rules)}
    doubts = [
        f"{rule.project}/{rule.name}: {doubt}"
        for rule in rules
        for doubt in warnings_of(rule, apps[rule.project])
    ]
    for rule in rules:
        gone = [name for name in rule.notifiers if name not in channels]
        if gone:
            raise ConfigurationError(
                told(
                    "{rule} names {gone}, configured: {there}; correct the rule, or [notifiers]",
                    rule=f"{rule.project}/{rule.name}",
                    gone=", ".join(gone),
                    there=", ".join(channels),
                )
            )
    text = "{count} in force, all with channels that are configured"
    return _both(told(text, count=len(rules)), *doubts)


def _messages(settings: Any) -> str:
    """What no channel has taken: waiting for one that is gone, or given up."""
    from rag_monitor.domain.clock import SharedClock

    if reason := _not_looked_at(settings):
        return reason
    channels = _built(settings)
    clock = SharedClock()
    with _store(settings, clock) as store:
        found = store.outbox.undelivered()
    since = clock.now() - _LATELY
    lost = [
        told(
            "{count} for {channel} were given up ({error})"
            if item.given_up
            else "{count} for {channel} wait, which is not configured",
            count=item.count,
            channel=item.channel,
            error=item.error,
        )
        for item in found
        if (item.given_up and item.created_at >= since)
        or (not item.given_up and item.channel not in channels)
    ]
    if lost:
        raise ConfigurationError(
            told(
                "messages that nobody has read: {lost}; look at the Alerts page for what they "
                "said, and correct [notifiers] (configured: {there})",
                lost=_both(*lost),
                there=", ".join(channels),
            )
        )
    waiting = sum(item.count for item in found if not item.given_up)
    earlier = sum(item.count for item in found if item.given_up)
    text = "{count} wait for their channels"
    if earlier:
        text += "; {earlier} were given up, none of them in the last day"
    return told(text, count=waiting, earlier=earlier)


def _both(*parts: str | None) -> str:
    """Sentences one after the other, each in the language that was chosen."""
    mark = "；" if chosen() is Language.ZH else "; "
    return mark.join(problem(part, chosen()) for part in parts if part)


def _projects(rules: Iterable[AlertRule]) -> set[str]:
    return {rule.project for rule in rules}


def _channels(settings: Any) -> str:
    return ", ".join(_built(settings))


def _built(settings: Any) -> dict[str, Notifier]:
    from rag_monitor.alerting.notifiers.registry import build_all

    return build_all(
        settings.notifiers,
        language=settings.language,
        public_url=settings.public_url,
        timezone=settings.timezone,
    )


def _trials(settings: Any, name: str) -> list[Check]:
    """One for each channel that was sent a test alert."""
    from rag_monitor.cli.trial import send_trial, wanted

    channels = _built(settings)
    return [
        _tried(f"channel {known}", partial(send_trial, channels[known], known))
        for known in wanted(channels, name)
    ]


def _judge(settings: Any) -> str:
    from rag_monitor.worker.judging import never_asked

    async def look() -> str:
        judge = create_judge(settings)
        try:
            found = str(judge.identity)
            if isinstance(judge, InspectableJudge):
                able = await judge.inspect()
                found += "; " + ", ".join(f"{name} {value}" for name, value in able.items())
            unread = never_asked(settings)
            return _both(found, unread)
        finally:
            await judge.close()

    return asyncio.run(look())
