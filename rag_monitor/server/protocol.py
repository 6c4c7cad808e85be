"""HTTP/1.1 with bounds on what comes before the body: uvicorn has neither deadline nor size there.

Bodies have bounds of their own, in `limits`.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_TIMEOUT_S: Final = 10.0
"""Longest wait for a whole request line with its headers, from the first byte or the connection."""
MAX_HEAD_BYTES: Final = 64 * 1024
MAX_HEADERS: Final = 200
_TOO_LARGE: Final = b"The request line and headers are too large."


class _HeadTooLargeError(Exception):
    """Ends the parser's work on a head that is over the bounds."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose request heads are late (slow loris), answers 431 to large ones."""

    head_timeout_s: float = HEAD_TIMEOUT_S

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._in_message = False
        self._in_head = True
        self._head_bytes = 0
        self._too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first head."""
        super().connection_made(transport)
        self._arm()

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
