"""Results that come later, as futures of threads and tasks of an event loop.

What a future holds is read where asking leaves no trace: `exception()` of a task tells asyncio that
somebody has seen its failure, and the host would miss the warning that nobody has.
"""

from __future__ import annotations

import sys
from typing import Any
from weakref import finalize

from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.observer import Observer


def watch_future(observer: Observer, future: Any) -> bool:
    """Tell `observer` when `future` is done, or given up; False when it is no future we know."""
    kind = type(future)
    if not hasattr(kind, "add_done_callback"):
        return False
    ours = _asyncio_result if _is(kind, "asyncio", "Future") else _thread_result
    if ours is _thread_result and not _is(kind, "concurrent.futures", "Future"):
        return False

    def done(finished: Any) -> None:
        try:
            error, result = ours(finished)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.caught("future", mistake)
            observer.ended()
            return
        if error is None:
            observer.returned(result)
        else:
            observer.failed(error)

    try:
        if future.done():
            done(future)
        else:
            future.add_done_callback(done)
            finalize(future, observer.ended, "abandoned").atexit = False
    except Exception as mistake:  # noqa: BLE001 - the boundary; a future we may not touch
        GUARD.caught("future", mistake)
        return False
    return True


def _is(kind: type, module: str, name: str) -> bool:
    """Whether `kind` is the class `name` or below it; who has not imported it has none."""
    known = getattr(sys.modules.get(module), name, None)
    return isinstance(known, type) and issubclass(kind, known)


def _asyncio_result(future: Any) -> tuple[BaseException | None, object]:
    if future.cancelled():
        return sys.modules["asyncio"].CancelledError(), None
    error = future._exception
    return error, None if error is not None else future._result


def _thread_result(future: Any) -> tuple[BaseException | None, object]:
    if future.cancelled():
        return sys.modules["concurrent.futures"].CancelledError(), None
    error = future.exception(0)
    return error, None if error is not None else future.result(0)
