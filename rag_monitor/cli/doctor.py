"""`rag-monitor doctor`: is everything in place?"""

from __future__ import annotations

import asyncio
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from importlib import metadata
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rag_monitor import __version__
from rag_monitor.cli.judging import create_judge
from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.settings import ConfigPath, load
from rag_monitor.cli.words import LanguageOption, chosen, say
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.i18n import ENGLISH, Message, msgid, translate
from rag_monitor.installation import install_command
from rag_monitor.judges.judge import InspectableJudge
from rag_monitor.language.compiled import COMPILED

if TYPE_CHECKING:
    from rag_monitor.alerting.notifiers.notifier import Notifier
    from rag_monitor.domain.clock import SharedClock
    from rag_monitor.store.store import Store

_LATELY: Final = timedelta(days=1)
_ASSEMBLY_LATE_S: Final = 60.0
_LOOK_THROUGH_S: Final = 5
_MINIMUM: Final = (3, 11)
_PARKED_SHOWN: Final = 3
_OPTIONAL: Final = {
    "openai": "openai",
    "psycopg": "postgresql",
    "torch": "gpu",
    "transformers": "gpu",
    "pyarrow": "parquet",
    "openpyxl": "xlsx",
    "grpcio": "grpc",
}
"""Distribution to the extra that brings it."""

_NAMES: Final = {
    "compiled": msgid("compiled"),
    "configuration": msgid("configuration"),
    "database": msgid("database"),
    "grpc": msgid("grpc"),
    "judge": msgid("judge"),
    "file": msgid("file"),
    "queue": msgid("queue"),
    "names": msgid("names"),
    "channels": msgid("channels"),
    "messages": msgid("messages"),
    "rules": msgid("rules"),
    "channel": msgid("channel {name}"),
    "detector": msgid("detector {name}"),
    "machine": msgid("machine"),
    "sample": msgid("sample"),
}
"""What is looked at, in words; distributions are called as they are."""


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
    detectors: Annotated[
        bool,
        typer.Option("--detectors", help="Measure how fast hallucination detectors run here."),
    ] = False,
    config: ConfigPath = None,
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Check installation, configuration, database and judge; exit 1 when one is not in order.

    With --notify a test alert and its resolution are sent to a channel; they say that they are a
    test. With --injection every attack is put to the judge beside a harmless text of the same
    length; the calls cost what judging costs. With --detectors every configured detector judges a
    sample for some seconds, and the speed of published ones is guessed.
    """
    del language  # chosen for all that is said below
    if injection:
        from rag_monitor.cli.doctor_checks import report_injection

        report_injection(load(config), families, as_json)
        return
    if families is not None:
        raise ConfigurationError("--families goes with --injection")
    if detectors:
        from rag_monitor.cli.doctor_checks import detectors as looked_at

        _end([Check(*finding) for finding in looked_at(load(config))], as_json)
        return
    if notify is not None:
        _end(_trials(load(config), notify), as_json)
        return
    checks = [_python(), _compiled(), *starmap(_extra, _OPTIONAL.items())]
    try:
        settings = load(config)
    except ConfigurationError as error:
        checks.append(Check("configuration", ok=False, detail=_mended(error)))
    else:
        checks.append(Check("configuration", ok=True, detail=say(Message.within("doctor", "read"))))
        checks.append(_tried("grpc", lambda: _grpc(settings)))
        checks.append(_tried("database", lambda: _database(settings)))
        if settings.database_url.startswith("sqlite"):
            checks.append(_below(checks, "file", lambda: _file(settings)))
        checks.append(_below(checks, "queue", lambda: _queue(settings)))
        checks.append(_below(checks, "names", lambda: _names(settings)))
        checks.append(_tried("judge", lambda: _judge(settings)))
        checks.append(_tried("channels", lambda: ", ".join(_built(settings))))
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
        state = (say("ok") if check.ok else say("BAD")) if check.looked_at else "--"
        print_line(f"{state:<3}  {_named(check.name)}{say(': ')}{check.detail}")


def _named(name: str) -> str:
    """What was looked at, in words; the name of a channel or detector stands behind its kind."""
    head, _, rest = name.partition(" ")
    return say(_NAMES.get(head, head), name=rest)


def _mended(error: Exception) -> str:
    return translate(error, chosen())


def _python() -> Check:
    ok = sys.version_info >= _MINIMUM
    version = platform.python_version()
    if not ok:
        wanted = ".".join(map(str, _MINIMUM))
        version = say("{found}; rag-monitor needs {wanted} or newer", found=version, wanted=wanted)
    return Check("python", ok=ok, detail=version)


def _compiled() -> Check:
    if COMPILED is None:
        detail = say(
            "no: the embedded judge takes about three times as long; install a C compiler"
            " and rag-monitor anew"
        )
    else:
        detail = say("yes")
    return Check("compiled", ok=True, detail=detail)


def _extra(distribution: str, extra: str) -> Check:
    try:
        detail = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        detail = say("not installed (optional: {command})", command=install_command(extra))
    return Check(distribution, ok=True, detail=detail)


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
        check = _tried(name, look)
        if database.ok or check.detail != database.detail:
            return check
    detail = say("not looked at before the database is in order")
    return Check(name, ok=False, detail=detail, looked_at=False)


def _grpc(settings: Any) -> str:
    from rag_monitor.server import grpc_door

    if not grpc_door.takes_grpc(settings):
        return say("off, as the settings say")
    if not grpc_door.installed():
        command = install_command("grpc")
        needed = say(grpc_door.NOT_INSTALLED, oldest=grpc_door.OLDEST, command=command)
        if settings.grpc.asked_for:
            raise ConfigurationError(needed)
        return say("off; {reason}", reason=needed)
    host, port = grpc_door.address(settings)
    return f"{host}:{port}"


def _database(settings: Any) -> str:
    from rag_monitor.domain.clock import SharedClock
    from rag_monitor.store import migration
    from rag_monitor.store.lockfile import require_writable

    if missing := migration.not_yet_made(settings.database_url):
        require_writable(Path(missing))
        text = msgid("no file {path} yet; `rag-monitor serve` or `migrate` makes it")
        return say(text, path=missing)
    revision, head = migration.supported_revision(settings.database_url), migration.head()
    if revision is None:
        text = msgid("reachable, empty; `rag-monitor serve` or `migrate` brings it to {head}")
        return say(text, head=head)
    if revision != head:
        text = msgid(
            "the schema is at {revision}, this release needs {head}: run `rag-monitor migrate`"
        )
        raise ConfigurationError(text, revision=revision, head=head)
    with _store(settings, SharedClock()) as store:
        store.try_writing()
    state = say("reachable, schema {revision}", revision=revision)
    exposed = migration.exposed(settings.database_url)
    return _both(state, exposed)


def _file(settings: Any) -> str:
    """Whether SQLite finds its file whole, as far as it comes in a few seconds."""
    from rag_monitor.store import migration
    from rag_monitor.store.engine import parse_url
    from rag_monitor.store.integrity import quick_check

    url = parse_url(settings.database_url)
    if missing := migration.not_yet_made(settings.database_url):
        return say("there is no file {path} yet", path=missing)
    until = time.monotonic() + _LOOK_THROUGH_S
    damage = quick_check(Path(url.database or ""), lambda: time.monotonic() < until)
    if damage is None:
        return say("not all pages were looked at in {seconds} s", seconds=_LOOK_THROUGH_S)
    if damage:
        text = msgid(
            "pages of {path} are damaged ({found}): stop the monitor and run `rag-monitor recover`"
        )
        raise ConfigurationError(text, path=url.database, found=damage[0])
    return say("every page of {path} is in order", path=url.database)


def _queue(settings: Any) -> str:
    """What waits to be assembled or judged, and what was given up."""
    from rag_monitor.domain.clock import SharedClock

    if reason := _not_looked_at(settings):
        return reason
    clock = SharedClock()
    with _store(settings, clock) as store:
        assembling = store.spans.assembling(clock.now())
        backlog = store.tasks.backlog(clock.now())
        parked = store.tasks.parked(_PARKED_SHOWN)
    if parked:
        one = msgid("{project}/{trace} ({reason})")
        named = ", ".join(
            say(one, project=task.project, trace=task.trace_id, reason=task.reason)
            for task in parked
        )
        raise ConfigurationError(
            "{count} traces were given up, the latest {named}; look at what is special about "
            "them, then judge them again with `rag-monitor tasks retry`",
            count=backlog.parked,
            named=named,
        )
    if assembling.oldest_s > _ASSEMBLY_LATE_S:
        raise ConfigurationError(
            "{count} acknowledged traces wait to be assembled, the oldest for {age:.0f} s: no "
            "page and no rule sees them; see whether a process with the role `worker` or `all` "
            "runs, or start more",
            count=assembling.traces,
            age=assembling.oldest_s,
        )
    waiting = []
    if assembling.traces:
        waiting.append(say("{count} traces are being assembled", count=assembling.traces))
    if backlog.waiting:
        text = msgid("{count} traces wait to be judged, the oldest for {age:.0f} s")
        waiting.append(say(text, count=backlog.waiting, age=backlog.oldest_age_s))
    if backlog.sampled:
        text = msgid(
            "{count} traces wait for the judge they were drawn for, the oldest for {age:.0f} s"
        )
        waiting.append(say(text, count=backlog.sampled, age=backlog.sampled_age_s))
    return say("; ").join(waiting) or say("nothing waits to be judged")


def _names(settings: Any) -> str:
    """Whether every project has room for new names, and applications are not named after pods."""
    from rag_monitor.cli.doctor_checks import names_in_order
    from rag_monitor.domain.clock import SharedClock

    if reason := _not_looked_at(settings):
        return reason
    with _store(settings, SharedClock()) as store:
        return names_in_order(store.names.counts())


def _not_looked_at(settings: Any) -> str | None:
    """Why nothing can be read from the database yet; None: it can."""
    from rag_monitor.store import migration

    if migration.not_yet_made(settings.database_url):
        return say("not looked at before there is a database")
    if migration.current(settings.database_url) != migration.head():
        return say("not looked at before the schema is this release's")
    return None


def _store(settings: Any, clock: SharedClock) -> Store:
    """The database beside a server that may run on it."""
    from rag_monitor.store.names import Naming
    from rag_monitor.store.store import Store

    options = replace(settings.store_options, exclusive=False, auto_migrate=False)
    return Store.open(options, clock, Naming(limits=settings.names))


def _rules(settings: Any) -> str:
    """Whether every rule reaches the channels it names, and watches an app that there is."""
    from rag_monitor.alerting.rules import rule_warnings
    from rag_monitor.cli.doctor_checks import untold
    from rag_monitor.domain.clock import SharedClock

    if reason := _not_looked_at(settings):
        return reason
    channels = _built(settings)
    with _store(settings, SharedClock()) as store:
        rules = [rule for rule in store.rules.all() if rule.enabled]
        apps = {
            project: store.traces.app_names(project) for project in {rule.project for rule in rules}
        }
        states = store.rule_states.all()
    doubts = [
        say("{name}: {reason}", name=f"{rule.project}/{rule.name}", reason=doubt)
        for rule in rules
        for doubt in rule_warnings(rule, apps[rule.project])
    ]
    for rule in rules:
        gone = [name for name in rule.notifiers if name not in channels]
        if gone:
            raise ConfigurationError(
                "{rule} names {gone}, configured: {there}; correct the rule, or [notifiers]",
                rule=f"{rule.project}/{rule.name}",
                gone=", ".join(gone),
                there=", ".join(channels),
            )
    text = msgid("{count} in force, all with channels that are configured")
    return _both(say(text, count=len(rules)), *doubts, *untold(states, any(apps.values())))


def _messages(settings: Any) -> str:
    """What no channel has taken: waiting for one that is gone, or given up."""
    from rag_monitor.domain.clock import SharedClock

    if reason := _not_looked_at(settings):
        return reason
    channels = _built(settings)
    clock = SharedClock()
    with _store(settings, clock) as store:
        undelivered = store.outbox.undelivered()
    since = clock.now() - _LATELY
    lost = [
        say(
            msgid("{count} for {channel} were given up ({error})")
            if item.given_up
            else msgid("{count} for {channel} wait, which is not configured"),
            count=item.count,
            channel=item.channel,
            error=item.error,
        )
        for item in undelivered
        if (item.given_up and item.created_at >= since)
        or (not item.given_up and item.channel not in channels)
    ]
    if lost:
        raise ConfigurationError(
            "messages that nobody has read: {lost}; look at the Alerts page for what they "
            "said, and correct [notifiers] (configured: {there})",
            lost=_both(*lost),
            there=", ".join(channels),
        )
    waiting = sum(item.count for item in undelivered if not item.given_up)
    earlier = sum(item.count for item in undelivered if item.given_up)
    if not earlier:
        return say("{count} wait for their channels", count=waiting)
    return say(
        "{count} wait for their channels; {earlier} were given up, none of them in the last day",
        count=waiting,
        earlier=earlier,
    )


def _both(*parts: str | None) -> str:
    """Sentences one after the other, each in the language that was chosen."""
    return say("; ").join(translate(part, chosen()) for part in parts if part)


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
    from rag_monitor.cli.doctor_checks import chosen_channels, send_trial

    channels = _built(settings)
    return [
        _tried(f"channel {channel}", partial(send_trial, channels[channel], channel))
        for channel in chosen_channels(channels, name)
    ]


def _judge(settings: Any) -> str:
    from rag_monitor.worker.judging import never_asked

    async def look() -> str:
        judge = create_judge(settings)
        try:
            summary = str(judge.identity)
            if isinstance(judge, InspectableJudge):
                able = await judge.inspect()
                summary += "; " + ", ".join(f"{name} {value}" for name, value in able.items())
            unread = never_asked(settings)
            return _both(summary, unread)
        finally:
            await judge.close()

    return asyncio.run(look())
