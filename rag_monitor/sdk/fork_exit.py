"""Ends of a process that `atexit` never sees.

A forked child of multiprocessing or billiard leaves by `os._exit`: after finalizers of its own, or,
as a worker of a billiard pool that Celery recycles, after nothing but the pool's `on_exit`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

_LAST: Final = -1000
"""Priority of our finalizer: after those of the host, which may still produce traces."""
_watched = False
_forked = False


class _Registrar:
    """Something that multiprocessing can hold weakly."""


_REGISTRAR: Final = _Registrar()


def watch_children(at_end: Callable[[], None], *, forked: bool = False) -> None:
    """Call `at_end` when a forked child of multiprocessing or billiard ends; imports nothing.

    Before its work begins such a child forgets the finalizers it has, and then runs what was
    registered for after the fork. So both are needed: whoever calls may stand on either side.

    Args:
        at_end: Flushes; must not raise.
        forked: This process was forked after the SDK was loaded.
    """
    global _watched, _forked
    _forked = _forked or forked
    util = sys.modules.get("multiprocessing.util")  # billiard registers with it, too
    if util is None or _watched or not hasattr(util, "register_after_fork"):
        return
    _watched = True

    def finalize(_: object = None) -> None:
        util.Finalize(None, _end_child, args=(at_end,), exitpriority=_LAST)
        _watch_pool_worker(at_end)

    finalize()
    util.register_after_fork(_REGISTRAR, finalize)


def _end_child(at_end: Callable[[], None]) -> None:
    """Not in the first process nor in a spawned one: `atexit` serves these, and later."""
    if _forked or _is_forked_by_a_server():
        at_end()


def _is_forked_by_a_server() -> bool:
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None or multiprocessing.parent_process() is None:
        return False
    return bool(multiprocessing.get_start_method(allow_none=True) != "spawn")


def _watch_pool_worker(at_end: Callable[[], None]) -> None:
    """Call `at_end` after the `on_exit` of the billiard pool's worker that this process is."""
    process: Any = sys.modules.get("billiard.process")
    worker: Any = getattr(process and process.current_process(), "_target", None)
    if not hasattr(worker, "on_exit"):
        return
    before = worker.on_exit

    def on_exit(*args: Any) -> None:
        try:
            if before is not None:
                before(*args)
        finally:
            at_end()

    worker.on_exit = on_exit
