"""Whose turn it is: requests to the API and pages share a fixed number of threads.

Ingest, scrapes and health checks never come here: they have threads of their own, or need none. So
pages that are slow, or hang with the database, hold up one another only; and who has left while
waiting for a turn does not get one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_monitor.server.paced_ingest import is_ingest
from rag_monitor.server.problems import ProblemError
from rag_monitor.telemetry import dropped

APART: Final[Collection[str]] = frozenset({"/metrics", "/healthz", "/readyz"})
_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class ConcurrencyLimit:
    """Middleware that lets so many requests in at once and so many more wait.

    Args:
        app: What answers.
        at_once: Requests that are worked on.
        waiting: Requests that may wait for their turn; more are told to come again.
    """

    def __init__(self, app: ASGIApp, at_once: int, waiting: int) -> None:
        self._app = app
        self._turns = asyncio.Semaphore(at_once)
        self._most_waiting = waiting
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer when it is the request's turn.

        Raises:
            ProblemError: 503; too many wait already.
        """
        if scope["type"] != "http" or scope["path"] in APART or is_ingest(scope):
            await self._app(scope, receive, send)
            return
        if self._turns.locked():
            if self._waiting >= self._most_waiting:
                dropped("server", "too_many_requests")
                raise ProblemError(
                    503,
                    "Too many requests wait already; send it again in a few seconds.",
                    kind="overloaded",
                    headers={"Retry-After": "5"},
                )
            remaining = await self._patient(scope, receive)
            if remaining is None:
                dropped("server", "gone_while_waiting")
                return
            receive = remaining
        else:
            await self._turns.acquire()
        try:
            await self._app(scope, receive, send)
        finally:
            self._turns.release()

    async def _patient(self, scope: Scope, receive: Receive) -> Receive | None:
        """Wait for a turn; None when whoever asked has gone. Returns what to read the body by."""
        self._waiting += 1
        try:
            if scope["method"] not in _BODILESS:
                await self._turns.acquire()
                return receive
            return await self._unless_gone(receive)
        finally:
            self._waiting -= 1

    async def _unless_gone(self, receive: Receive) -> Receive | None:
        seen: deque[Message] = deque()
        gone = asyncio.create_task(_read_on(receive, seen))
        turn = asyncio.create_task(self._turns.acquire())
        come = False
        try:
            await asyncio.wait({turn, gone}, return_when=asyncio.FIRST_COMPLETED)
            come = turn.done() and not gone.done()
        finally:
            gone.cancel()
            if not come:
                turn.cancel()
                turn.add_done_callback(self._pass_on)
        if come:
            return _reading(seen, receive)
        await gone  # raises what is wrong with a body
        return None

    def _pass_on(self, turn: asyncio.Task[bool]) -> None:
        """Let the next one have a turn that came too late."""
        if not turn.cancelled():
            self._turns.release()


async def _read_on(receive: Receive, seen: deque[Message]) -> None:
    """Read until whoever asked is gone."""
    while (message := await receive())["type"] != "http.disconnect":
        seen.append(message)


def _reading(seen: deque[Message], receive: Receive) -> Receive:
    """What was read while waiting, then the rest."""

    async def read() -> Message:
        return seen.popleft() if seen else await receive()

    return read
