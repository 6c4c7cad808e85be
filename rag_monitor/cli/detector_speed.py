"""`rag-monitor doctor --detectors`: which hallucination detectors run here, and how fast."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

from rag_monitor.cli.judging import create_judge
from rag_monitor.cli.words import chosen, say
from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import msgid, translate

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
            yield _measured(name, settings)
    for model in PUBLISHED:
        seconds = guess(model, machine)
        size = model.weights * machine.bytes_a_weight / 1e9
        if seconds is None:
            found = say("does not fit: its weights take {size:.1f} GB", size=size)
        else:
            text = msgid("about {seconds:.2g} s a trace, {size:.1f} GB; a guess")
            found = say(text, seconds=seconds, size=size)
        yield f"detector {model.name}", True, found


def _measured(name: str, settings: Any) -> Finding:
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
        found, place = asyncio.run(run())
    except RagMonitorError as error:
        return f"detector {name}", False, translate(error, chosen())
    text = msgid("{seconds:.3g} s a trace, {tokens:.0f} tokens a second, measured; {place}")
    detail = say(
        text,
        seconds=found.seconds_a_trace,
        tokens=found.tokens / found.seconds,
        place=place,
    )
    return f"detector {name}", True, detail
