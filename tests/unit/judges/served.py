"""A judge in front of a server that answers as a test says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.stub_server import Answer, Body, StubServer, completion
from rag_monitor.judges.openai_compatible import create
from rag_monitor.judges.openai_compatible.capabilities import forget
from rag_monitor.judges.openai_compatible.judge import OpenAICompatibleJudge
from tests.unit.judges.requests import filled

Script = Callable[[str, Body], Answer]
FAST = {"backoff_s": 0.001, "backoff_cap_s": 0.002, "attempt_timeout_s": 5.0, "deadline_s": 10.0}


@asynccontextmanager
async def served(
    script: Script, *, services: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[tuple[OpenAICompatibleJudge, StubServer]]:
    forget()
    async with StubServer(script) as server:
        settings = {"base_url": server.url, "model": "m", "limits": FAST, "probe_every": 0}
        settings["scoring_endpoints"] = False  # test_label_ways.py is about them
        judge = create(settings | options, **(services or {}))
        try:
            yield judge, server
        finally:
            await judge.close()


def in_turn(*answers: Answer | Script) -> Script:
    """One answer after the other; the last stays."""
    left = list(answers)

    def script(path: str, body: Body) -> Answer:
        answer = left.pop(0) if len(left) > 1 else left[0]
        return answer(path, body) if callable(answer) else answer

    return script


def sure(_path: str, body: Body) -> Answer:
    return Answer(payload=completion(json.dumps(filled(body, lambda *_: 0.9))))
