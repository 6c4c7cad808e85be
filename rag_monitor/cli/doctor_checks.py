"""What `rag-monitor doctor` checks besides: detectors, injection, channels, names of apps."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rag_monitor.alerting.conditions.wording import need, notes_text
from rag_monitor.alerting.dispatcher import TEST_NAME, make_test_messages
from rag_monitor.alerting.notifiers.notifier import Notifier
from rag_monitor.cli.judging import create_judge
from rag_monitor.cli.output import print_json, print_line
from rag_monitor.cli.words import chosen, say
from rag_monitor.domain.names import NameKind
from rag_monitor.domain.rule_state import RuleState, Verdict
from rag_monitor.domain.stored import NameCount
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import ConfigurationError, RagMonitorError
from rag_monitor.i18n import msgid, translate
from rag_monitor.ingest.rewriting import pod_names
from rag_monitor.spelling import did_you_mean

_UNTOLD_SHOWN: Final = 5

Finding = tuple[str, bool, str]
"""What was looked at, whether it is in order, and what was found."""


def detectors(settings: Any) -> Iterator[Finding]:
    """The machine, every detector that the settings name, and what published ones would do."""
    from rag_monitor.judges.detectors.judge import NAME
    from rag_monitor.judges.detectors.speed import PUBLISHED, guess, look
    from rag_monitor.judges.factory import kind_of

    machine = look()
    name = machine.gpu or say("{count} cores", count=os.cpu_count())
    text = msgid("{name}, {memory:.0f} GB free, about {speed:.3g} × 10⁹ operations a second")
    speed, memory = machine.operations / 1e9, machine.memory / 1e9
    yield "machine", True, say(text, name=name, memory=memory, speed=speed)
    yield "sample", True, say("five passages of 200 words, an answer of 100, in batches")
    for name in settings.judges:
        if kind_of(name, settings.judges) == NAME:
            yield _detector(name, settings)
    for model in PUBLISHED:
        seconds = guess(model, machine)
        size = model.weights * machine.bytes_a_weight / 1e9
        if seconds is None:
            detail = say("does not fit: its weights take {size:.1f} GB", size=size)
        else:
            text = msgid("about {seconds:.2g} s a trace, {size:.1f} GB; a guess")
            detail = say(text, seconds=seconds, size=size)
        yield f"detector {model.name}", True, detail


def _detector(name: str, settings: Any) -> Finding:
    from rag_monitor.judges.detectors.speed import Speed, measure
    from rag_monitor.judges.judge import InspectableJudge

    async def run() -> tuple[Speed, str]:
        judge = create_judge(settings, name)
        try:
            able = await judge.inspect() if isinstance(judge, InspectableJudge) else {}
            return await measure(judge), str(able.get("runs_on", ""))
        finally:
            await judge.close()

    try:
        measured, place = asyncio.run(run())
    except RagMonitorError as error:
        return f"detector {name}", False, translate(error, chosen())
    text = msgid("{seconds:.3g} s a trace, {tokens:.0f} tokens a second, measured; {place}")
    detail = say(
        text,
        seconds=measured.seconds_a_trace,
        tokens=measured.tokens / measured.seconds,
        place=place,
    )
    return f"detector {name}", True, detail


def report_injection(settings: Any, families: Path | None, as_json: bool) -> None:
    """Attack the configured judge and print what came of it, family by family.

    Raises:
        ConfigurationError: The file of families cannot be used.
        RagMonitorError: The judge judged none of the attacks.
    """
    identity, rows = asyncio.run(_attack(settings, families))
    tried = sum(row["tried"] for row in rows)
    if not tried:
        raise RagMonitorError(
            "{identity} gave no usable verdict on any attack: {failed} failed, {skipped} are of "
            "traces it gets wrong unattacked; `rag-monitor doctor` checks the judge itself",
            identity=identity,
            failed=sum(r["failed"] for r in rows),
            skipped=sum(r["skipped"] for r in rows),
        )
    if as_json:
        print_json({"judge": identity, "tried": tried, "families": rows})
        return
    text = msgid("judge {judge}, {tried} attacks against controls of the same length")
    print_line(say(text, judge=identity, tried=tried))
    print_line(
        f"{'group family':<32}{'tried':>6}{'flips':>8}{'shift':>8}{'noticed':>9}{'failed':>8}"
    )
    for row in rows:
        name = f"{row['group']}     {row['name']}"
        print_line(
            f"{name[:31]:<32}{row['tried']:>6}{row['flips']:>8.2f}{row['shift']:>+8.2f}"
            f"{row['noticed']:>9.2f}{row['failed']:>8}   {row['bar']}"
        )
    text = msgid("flips and shift are net of the controls; noticed is the share marked suspect")
    print_line(say(text))


async def _attack(settings: Any, families: Path | None) -> tuple[str, list[dict[str, Any]]]:
    from rag_monitor.judges.injection_report import as_rows, measure_injection, read_families

    content = read_families(families)
    judge = create_judge(settings)
    try:
        results = await measure_injection(judge, content)
        return str(judge.identity), as_rows(results)
    finally:
        await judge.close()


EVERY = "all"


def chosen_channels(channels: Mapping[str, Notifier], name: str) -> list[str]:
    """The channels that are meant.

    Raises:
        ConfigurationError: There is none of that name.
    """
    if name == EVERY and EVERY not in channels:
        return list(channels)
    if name in channels:
        return [name]
    raise ConfigurationError(
        "--notify {name}: there is no such channel{meant}; configured: {names}",
        name=name,
        meant=did_you_mean(name, channels),
        names=", ".join(channels),
    )


def send_trial(channel: Notifier, name: str) -> str:
    """Send a test alert and its end through one channel; what to look for there.

    Raises:
        RagMonitorError: The channel did not take one of them, with its own words.
    """
    for notification in make_test_messages(DEFAULT_PROJECT, name, datetime.now(UTC)):
        try:
            channel.send([notification])
        except RagMonitorError as error:
            event, reason = notification.event, error
            text = msgid("the {event} message: {reason}")
            raise RagMonitorError(text, event=event, reason=reason) from error
    text = msgid("took an alert {name} and its resolution; look whether both arrived")
    return say(text, name=TEST_NAME)


def names_in_order(counts: Sequence[NameCount]) -> str:
    """How many there are, and whether an application is named after its pods.

    Raises:
        ConfigurationError: A project has no room for further names, with what to do about it.
    """
    mark = say("; ")
    hints = [hint for one in counts if one.kind is NameKind.APP and (hint := _pods(one))]
    full = [
        say(
            "project {project} has {count} names of kind {kind}, as many as it may: further ones "
            "are counted as (other); send fewer, or raise `{kind}` in [names]",
            project=one.project,
            count=len(one.names),
            kind=one.kind.value,
        )
        for one in counts
        if one.full
    ]
    if full:
        raise ConfigurationError(mark.join([*full, *hints]))
    apps = sum(len(one.names) for one in counts if one.kind is NameKind.APP)
    return mark.join([say("room for more; {count} apps", count=apps), *hints])


def _pods(counted: NameCount) -> str | None:
    pod = pod_names(counted.names)
    if pod is None:
        return None
    example, pattern = pod
    return say(
        "`service.name` looks like a pod name ({example}): set `app=`, or a rewrite rule: "
        "[apps] rewrite = [['{pattern}', '']]",
        example=example,
        pattern=pattern,
    )


def untold(states: Sequence[RuleState], sent: bool) -> list[str]:
    """Which rules could not tell when they last looked, and what they would need.

    Args:
        states: Of all projects.
        sent: Whether any application has sent traces.
    """
    if not sent:
        return [say("no application has sent traces yet: nothing is watched")]
    blind = [state for state in states if state.verdict is Verdict.CANNOT_TELL]
    if not blind:
        return []
    lines = [say("{n} of {all} rules times apps cannot tell", n=len(blind), all=len(states))]
    for state in blind[:_UNTOLD_SHOWN]:
        reason = need(state) or notes_text(state.notes, chosen())
        lines.append(
            say(
                "{name}, {app}: {reason}",
                name=f"{state.project}/{state.rule}",
                app=state.app,
                reason=reason,
            )
        )
    return lines
