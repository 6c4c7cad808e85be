"""Hearing that a stream of a client's was closed; it stays the client's own object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any
from weakref import WeakMethod


def when_closed(stream: Any, closed: Callable[[], None]) -> None:
    """Have `closed` called after `stream.close()`, whether that is awaited or not.

    Clients close a stream that is left early, as at the end of a `with`, without closing what it
    iterates, and nothing else tells so before the garbage collection.

    Args:
        stream: An object whose class has a `close`; of others nothing is changed.
        closed: Must not raise.
    """
    close = getattr(stream, "close", None)
    if not callable(close):
        return
    # the stream would be kept until the garbage collection by what it holds itself
    method = WeakMethod(close) if isinstance(close, MethodType) else lambda: close

    def closing(*args: Any, **kwargs: Any) -> Any:
        original = method()
        try:
            return None if original is None else original(*args, **kwargs)
        finally:
            closed()

    async def closing_async(*args: Any, **kwargs: Any) -> Any:
        original = method()
        try:
            return None if original is None else await original(*args, **kwargs)
        finally:
            closed()

    stream.close = closing_async if inspect.iscoroutinefunction(close) else closing
