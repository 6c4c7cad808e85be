"""HTTP/1.1 with bounds on connections and on what comes before a body; uvicorn has neither.

Bodies have bounds of their own, in `limits`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from rag_monitor.telemetry import dropped

HEAD_TIMEOUT_S: Final = 10.0
"""Longest wait for a whole request line with its headers, from the first byte or the connection."""
MAX_HEAD_BYTES: Final = 64 * 1024
MAX_HEADERS: Final = 200
MAX_CONNECTIONS: Final = 1_900
"""Open connections of one process. Below uvicorn's own limit, at which everybody gets a 503."""
_TOO_LARGE: Final = b"The request line and headers are too large."


class _HeadTooLargeError(Exception):
    """Ends the parser's work on a head that is over the bounds."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose request heads are late (slow loris), answers 431 to large ones.

    One address that holds idle connections keeps nobody out: a new connection beyond the limit
    takes the place of the one that has been idle longest at the address that holds most of them.
    """

    head_timeout_s: float = HEAD_TIMEOUT_S
    max_connections: int = MAX_CONNECTIONS

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._in_message = False
        self._in_head = True
        self._head_bytes = 0
        self._too_large = False
        self._idle_since = self.loop.time()

    @property
    def address(self) -> str:
        """Who is at the other end; empty on a socket file."""
        return self.client[0] if self.client else ""

    @property
    def idle(self) -> bool:
        """Whether no request is being answered; one whose head is not complete does not count."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return (cycle is None or cycle.response_complete) and not self.pipeline

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room where there are too many; start waiting for the first head."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            self._make_room()
        self._arm()

    def on_response_complete(self) -> None:
        """Nothing is asked any more, unless the next request is here already."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes while no head is complete; then let the parser have it."""
        if not self._in_message:
            # Blank lines before a request begin none, but must not keep a connection either.
            self._arm()
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._too_large = True
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_message = self._in_head = True
        self._arm()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is here and in bounds; what follows is a body."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            self._too_large = True
            raise _HeadTooLargeError
        self._in_head = False
        self._head_bytes = 0
        self._disarm()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole; the next byte begins another."""
        self._in_message = False
        self._in_head = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser refused: 431 when it was only too large."""
        if not self._too_large:
            super().send_400_response(msg)
            return
        lines = (
            b"HTTP/1.1 431 Request Header Fields Too Large",
            b"content-type: text/plain; charset=utf-8",
            b"content-length: %d" % len(_TOO_LARGE),
            b"connection: close",
            b"",
            _TOO_LARGE,
        )
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()

    @classmethod
    def at_most(cls, connections: int) -> type[BoundedProtocol]:
        """The same with another bound of open connections."""
        return type(cls.__name__, (cls,), {"max_connections": connections})

    def _make_room(self) -> None:
        open_ones = [
            one
            for one in self.connections
            if isinstance(one, BoundedProtocol) and not one.transport.is_closing()
        ]
        if len(open_ones) <= self.max_connections:
            return
        held = Counter(one.address for one in open_ones)
        idle = [one for one in open_ones if one.idle and one is not self]
        if idle:
            leaves = min(idle, key=lambda one: (-held[one.address], one._idle_since))
            dropped("server", "idle_connection")
        else:
            leaves = self
            dropped("server", "too_many_connections")
        leaves.transport.close()

    def _arm(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_timeout_s, self._late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            # An answer is still being made for the request before: the wait starts over.
            self._arm()
        elif not self.transport.is_closing():
            self.transport.close()
