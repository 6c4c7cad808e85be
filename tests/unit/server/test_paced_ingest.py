"""Many ingest requests at once leave room for others in between."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Receive, Scope, Send

from rag_monitor.domain.ports import WriteOutcome
from rag_monitor.server.paced_ingest import AT_ONCE, PacedIngest
from rag_monitor.store.writer import _resolve, _Waiting


class Recorder:
    """An application that notes which requests begin, in order."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope["name"])


def ask(app: PacedIngest, name: str, path: str = "/v1/traces") -> asyncio.Task[None]:
    scope: Any = {"type": "http", "method": "POST", "path": path, "name": name}
    return asyncio.get_running_loop().create_task(app(scope, None, None))  # type: ignore[arg-type]


async def test_a_health_check_does_not_wait_for_all_who_came_before() -> None:
    recorder = Recorder()
    app = PacedIngest(recorder)
    senders = [f"sender {number}" for number in range(3 * AT_ONCE)]

    asked = [ask(app, name) for name in senders]
    asked.append(ask(app, "health", "/healthz"))
    await asyncio.gather(*asked)

    assert recorder.begun.index("health") == AT_ONCE
    recorder.begun.remove("health")
    assert recorder.begun == senders


async def test_who_leaves_while_waiting_takes_no_turn() -> None:
    recorder = Recorder()
    app = PacedIngest(recorder)
    asked = [ask(app, str(number)) for number in range(3 * AT_ONCE)]
    await asyncio.sleep(0)

    gone = asked[AT_ONCE : 2 * AT_ONCE]
    for task in gone:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)

    assert len(recorder.begun) == 2 * AT_ONCE


async def test_nothing_is_planned_while_nobody_sends() -> None:
    app = PacedIngest(Recorder())
    await asyncio.gather(*(ask(app, str(number)) for number in range(AT_ONCE + 1)))

    for _ in range(5):
        await asyncio.sleep(0)

    assert not app._is_planned
    await asyncio.wait_for(ask(app, "later"), 1)


async def test_callers_of_a_commit_are_answered_in_several_rounds() -> None:
    loop = asyncio.get_running_loop()
    group = [
        _Waiting(1, 1, loop, loop.create_future(), outcome=WriteOutcome(new=1)) for _ in range(10)
    ]

    _resolve(group)
    answered = sum(waiting.future.done() for waiting in group)
    await asyncio.gather(*(waiting.future for waiting in group))

    assert 0 < answered < len(group)
