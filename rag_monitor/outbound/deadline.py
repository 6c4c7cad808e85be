"""A total time limit for a conversation over a socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from types import TracebackType


class Deadline:
    """Cuts the connection when its time is over.

    Socket timeouts are per operation: a server that sends a byte a second would never meet one.

    Args:
        stream: Tells the socket of that moment; it may be wrapped or gone by then.
        seconds: Until it is cut, counted from entering.
    """

    def __init__(self, stream: Callable[[], socket.socket | None], seconds: float) -> None:
        self.passed = False
        """Whether the connection was cut; what was read last may only look complete."""
        self._stream = stream
        self._timer = threading.Timer(max(0.0, seconds), self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()

    def _cut(self) -> None:
        self.passed = True
        stream = self._stream()
        if stream is None:
            return
        try:
            stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it ended by itself meanwhile
