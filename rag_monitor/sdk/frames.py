"""The trace of a generator that is driven from a fresh context for every piece.

A thread pool that iterates a generator copies its caller's context for each piece, and so does a
task for each: what an earlier piece made current is gone. What stays is the generator's own frame,
which stands below whatever its code calls. Looked at only where no trace is current.
"""

from __future__ import annotations

import sys
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR
from typing import Any, Final

from rag_monitor.sdk.record import CURRENT, LiveTrace, NullTrace

_KINDS: Final = CO_GENERATOR | CO_ASYNC_GENERATOR
_MOST_OPEN: Final = 10_000
"""Traces remembered; who enters them and never leaves must not fill the memory."""
_DEEPEST: Final = 200

_OPEN: dict[int, LiveTrace] = {}
"""Traces entered inside generators that have not left them, by the generator's frame."""


def enter(frame: Any, live: LiveTrace) -> int | None:
    """Remember that `frame` has entered `live`, if it is a generator's; give the result to `leave`.

    A frame lives as long as its generator: until then no other one has its identity.
    """
    if not frame.f_code.co_flags & _KINDS or len(_OPEN) >= _MOST_OPEN:
        return None
    key = id(frame)
    _OPEN[key] = live
    return key


def leave(key: int | None) -> None:
    """Undo `enter`."""
    if key is not None:
        _OPEN.pop(key, None)


def here() -> LiveTrace | NullTrace | None:
    """The trace that the calling code belongs to."""
    live = CURRENT.get()
    return live if live is not None or not _OPEN else _around()


def _around() -> LiveTrace | None:
    frame = sys._getframe(2)
    for _ in range(_DEEPEST):
        live = _OPEN.get(id(frame))
        if live is not None:
            return live
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None
