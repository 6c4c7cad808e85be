"""Garbage collection in pauses that nobody notices.

A full collection of CPython stops every thread while it reads every tracked object, about 0.8 µs
each: a quarter of a second for a busy server, most of whose objects are caches that stay. Here what
survives a full collection is frozen, so that the next one reads only what is new. Objects that are
frozen are still freed by their reference counts; only cycles among them stay, until the next
thorough collection.
"""

from __future__ import annotations

import gc
import time
from typing import Any, Final

_YOUNG: Final = 2_000
"""Objects made and not freed before the young ones are collected, a pause of 1 to 3 ms; with
Python's own 700 judging, which keeps many passages for a moment, collects all the time."""
_MIDDLE: Final = 3
"""Collections of young objects before those that stayed are collected too."""
_FULL: Final = 1
"""Collections of the middle generation before a full one, which reads what survived these few."""
_GROWTH: Final = 4.0
"""A thorough collection is due when so many times the objects are frozen that the last one left.

Well above what caches add as they fill after a start: those objects are no garbage."""
_COUNT_EVERY_S: Final = 120.0
"""Counting frozen objects walks all of them, a pause of 50 to 90 ms for a busy server."""
_THOROUGH_EVERY_S: Final = 3_600.0
"""A thorough collection is due by then at the latest: few objects may hold much memory."""


class _Freezer:
    """Freezes what survives full collections; a callback of `gc`, which calls it one at a time.

    A thorough collection is a full one before which everything was unfrozen.
    """

    def __init__(self) -> None:
        self._thorough = True
        """Whether the next full collection reads everything."""
        self._left = 0
        """Objects that the last thorough collection left."""
        self._last = self._counted = 0.0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if phase != "stop" or info["generation"] != 2:
            return
        gc.freeze()
        now = time.monotonic()
        if self._thorough:
            self._thorough = False
            self._left, self._last, self._counted = gc.get_freeze_count(), now, now
        elif now - self._counted >= _COUNT_EVERY_S:
            self._counted = now
            grown = gc.get_freeze_count() > _GROWTH * self._left
            if grown or now - self._last >= _THOROUGH_EVERY_S:
                gc.unfreeze()
                self._thorough = True


def collect_in_short_pauses() -> None:
    """Set garbage collection up for a process that serves. Call it once, when all is loaded."""
    gc.callbacks.append(_Freezer())
    gc.set_threshold(_YOUNG, _MIDDLE, _FULL)
    gc.collect()
    # CPython puts a full collection off until a quarter of what the last one left is new. The last
    # one must not be the one that read everything.
    gc.collect()
