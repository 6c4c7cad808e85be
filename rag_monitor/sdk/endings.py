"""Ends of a process that `atexit` never sees.

A forked child of multiprocessing leaves by `os._exit`, after finalizers of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

_LAST: Final = -1000
"""Priority of our finalizer: after those of the host, which may still produce traces."""
_watched = False


class _Registrar:
    """Something that multiprocessing can hold weakly."""


_REGISTRAR: Final = _Registrar()


def watch_children(at_end: Callable[[], None]) -> None:
    """Call `at_end` when a forked child of multiprocessing ends; imports nothing.

    Before its work begins such a child forgets the finalizers it has, and then runs what was
    registered for after the fork. So both are needed: whoever calls may stand on either side.
    """
    global _watched
    util = sys.modules.get("multiprocessing.util")
    if util is None or _watched or not hasattr(util, "register_after_fork"):
        return
    _watched = True

    def finalize(_: object = None) -> None:
        util.Finalize(None, _end_child, args=(at_end,), exitpriority=_LAST)

    finalize()
    util.register_after_fork(_REGISTRAR, finalize)


def _end_child(at_end: Callable[[], None]) -> None:
    """Not in the first process nor in a spawned one: `atexit` serves these, and later."""
    multiprocessing = sys.modules["multiprocessing"]
    if multiprocessing.parent_process() is None:
        return
    if multiprocessing.get_start_method(allow_none=True) != "spawn":
        at_end()
