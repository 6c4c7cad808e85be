"""Ingest in small steps, so that who asks for health or metrics is answered in between.

A commit answers dozens of senders at the same moment, and their next requests come together, too.
Begun at once they would keep the event loop, and whoever asks meanwhile, for as long as all of them
take.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from rag_monitor.server.limits import TRACES_PATH
from rag_monitor.server.problems import is_otlp

AT_ONCE: Final = 4
"""Requests that begin in one round of the event loop."""


class PacedIngest:
    """Middleware that lets a few ingest requests begin in each round, in the order they came."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left = AT_ONCE
        self._is_planned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, ingest when it is the request's turn."""
        if is_ingest(scope):
            await self._turn()
        await self._app(scope, receive, send)

    async def _turn(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._is_planned:
            self._is_planned = True
            loop.call_soon(self._next_round)
        if self._left:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_round(self) -> None:
        was_busy = self._left < AT_ONCE
        self._left = AT_ONCE
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # else who asked has gone
                turn.set_result(None)
                self._left -= 1
        self._is_planned = was_busy
        if was_busy:
            asyncio.get_running_loop().call_soon(self._next_round)


def is_ingest(scope: Scope) -> bool:
    """Whether a request brings traces."""
    if scope["type"] != "http":
        return False
    path = scope["path"]
    return is_otlp(path) or (path == TRACES_PATH and scope["method"] == "POST")
