"""The trace on other threads: `copy_context`, and pools and threads that follow by themselves."""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar, overload

from opentelemetry.context import attach, detach, get_current

from rag_monitor.sdk.frame_scopes import current_trace
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.record import CURRENT, LiveTrace

P = ParamSpec("P")
R = TypeVar("R")

_ORIGINALS: Final[dict[tuple[type, str], Any]] = {}


class CopiedContext:
    """The context in which it was made, for code that runs elsewhere, also many times at once."""

    def __init__(self) -> None:
        self._context = contextvars.copy_context()
        live = current_trace()
        if live is not self._context.get(CURRENT):  # found by its generator
            self._context.run(CURRENT.set, live)

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call `function` in a copy of the context; what it sets there is not kept."""
        return self._context.copy().run(function, *args, **kwargs)


@overload
def copy_context() -> CopiedContext: ...
@overload
def copy_context(function: Callable[P, R], /) -> Callable[P, R]: ...
def copy_context(function: Any = None, /) -> Any:
    """Take the trace of here, and every other context variable, to another thread.

        pool.map(rm.copy_context(search), queries)
        pool.submit(rm.copy_context().run, search, query)

    Unlike a `contextvars.Context`, what it gives may run on many threads at once.

    Args:
        function: What runs there; None gives an object whose `run` calls any function.
    """
    copied = CopiedContext()
    if function is None:
        return copied

    @functools.wraps(function, updated=())
    def carried(*args: Any, **kwargs: Any) -> Any:
        return copied.run(function, *args, **kwargs)

    return carried


def follow_threads(on: bool) -> None:
    """Have every `ThreadPoolExecutor` and `Thread` take the trace along, or no longer."""
    if on == bool(_ORIGINALS):
        return
    if not on:
        for (kind, name), original in _ORIGINALS.items():
            setattr(kind, name, original)
        _ORIGINALS.clear()
        return
    from concurrent.futures import ThreadPoolExecutor
    from threading import Thread

    for kind, name, wrap in ((ThreadPoolExecutor, "submit", _submit), (Thread, "start", _start)):
        original = getattr(kind, name)
        _ORIGINALS[kind, name] = original
        setattr(kind, name, functools.wraps(original)(wrap(original)))


def _submit(original: Any) -> Any:
    def submit(self: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return original(self, _call, current_trace(), function, *args, **kwargs)

    return submit


def _start(original: Any) -> Any:
    def start(self: Any) -> None:
        try:
            live = current_trace()
            if type(live) is LiveTrace and not _is_worker(self):
                self.run = functools.partial(_run, self, live)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("threads", error)
        original(self)

    return start


def _is_worker(thread: Any) -> bool:
    """Whether it serves a pool, and so many traces."""
    pools = sys.modules.get("concurrent.futures.thread")
    return getattr(thread, "_target", None) is getattr(pools, "_worker", pools)


def _run(thread: Any, live: LiveTrace) -> None:
    vars(thread).pop("run", None)  # its own again
    _call(live, thread.run)


def _call(live: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `function` where `live` is current, and in no trace where that is None."""
    token = CURRENT.set(live)
    context = getattr(live, "otel_context", None)
    attached = attach(context) if context is not None and not get_current() else None
    try:
        return function(*args, **kwargs)
    finally:
        CURRENT.reset(token)
        if attached is not None:
            detach(attached)
