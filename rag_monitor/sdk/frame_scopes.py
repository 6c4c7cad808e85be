"""What code has entered and not left, by the frame that entered it.

A frame leaves what it enters, and while it is inside no other frame has its identity. That serves
two purposes. `TRACE = rm.trace("chat")` at the head of a module is one object that many requests
enter at once, in threads and tasks: `FrameScopes` tells them apart. And a generator that is driven
from a fresh context for every piece, by a thread pool or by one task each, loses what an earlier
piece made current: its own frame, which stands below whatever its code calls, still has the trace.
"""

from __future__ import annotations

import sys
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR
from typing import Any, Final, Generic, TypeVar

from rag_monitor.sdk.record import CURRENT, LiveTrace, NullTrace

Entered = TypeVar("Entered")

_GENERATOR_FLAGS: Final = CO_GENERATOR | CO_ASYNC_GENERATOR
_MOST_OPEN: Final = 10_000
"""Generators remembered; those that never leave must not fill the memory."""
_DEEPEST: Final = 200

_OPEN: dict[int, LiveTrace] = {}
"""Traces entered inside generators that have not left them, by the generator's frame."""


class FrameScopes(Generic[Entered]):
    """What was entered through one shared object and not left, by the frame of its `with`.

    A frame runs on one thread at a time, so no two threads ever write the same entry.

        >>> import sys
        >>> scopes, frame = FrameScopes[str](), sys._getframe()
        >>> scopes.enter(frame, "outer"); scopes.enter(frame, "inner")
        >>> scopes.leave(frame), scopes.leave(frame), scopes.leave(frame)
        ('inner', 'outer', None)
    """

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[int, tuple[Entered, Any]] = {}

    def __bool__(self) -> bool:
        """Whether any frame is inside."""
        return bool(self._open)

    def enter(self, frame: Any, entered: Entered) -> None:
        """Push `entered` for `frame`."""
        key = id(frame)
        self._open[key] = (entered, self._open.get(key))

    def leave(self, frame: Any) -> Entered | None:
        """Pop what `frame` entered last; None when it entered nothing."""
        key = id(frame)
        entry = self._open.pop(key, None)
        if entry is None:
            return None
        if entry[1] is not None:
            self._open[key] = entry[1]
        return entry[0]

    def leave_last(self) -> Entered | None:
        """As `leave` for an `ExitStack`, which enters and leaves from frames of its own."""
        try:
            key, (entered, before) = self._open.popitem()
        except KeyError:
            return None
        if before is not None:
            self._open[key] = before
        return entered


def enter_generator(frame: Any, live: LiveTrace) -> int | None:
    """Remember that `frame`, if it is a generator's, has entered `live`.

    Returns:
        What `leave_generator` needs; None when nothing was remembered. A frame lives as long as its
        generator, so until then no other one has its identity.
    """
    if not frame.f_code.co_flags & _GENERATOR_FLAGS or len(_OPEN) >= _MOST_OPEN:
        return None
    key = id(frame)
    _OPEN[key] = live
    return key


def leave_generator(key: int | None) -> None:
    """Undo `enter_generator`."""
    if key is not None:
        _OPEN.pop(key, None)


def current_trace() -> LiveTrace | NullTrace | None:
    """The trace that the calling code belongs to: its context's, else that of a generator below."""
    live = CURRENT.get()
    return live if live is not None or not _OPEN else _trace_of_generator()


def _trace_of_generator() -> LiveTrace | None:
    frame = sys._getframe(2)
    for _ in range(_DEEPEST):
        live = _OPEN.get(id(frame))
        if live is not None:
            return live
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None
