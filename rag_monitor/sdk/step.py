"""A timed part of a trace, and how a block or a decorated function becomes one."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Callable
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self, TypeVar

from rag_monitor.sdk.arguments import Arguments
from rag_monitor.sdk.counters import OUTSIDE
from rag_monitor.sdk.frame_scopes import FrameScopes, current_trace
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.peek import type_name
from rag_monitor.sdk.record import CURRENT, LiveTrace
from rag_monitor.sdk.streaming import (
    WHOLE,
    StreamObserver,
    finish_call,
    finish_with,
    watch,
    watching,
)

F = TypeVar("F", bound=Callable[..., Any])


class Step:
    """A timed part of a trace.

    Fields that most steps never set are class attributes: they cost the request nothing.
    """

    live: LiveTrace | None = None
    started = 0
    ended = 0
    ok = True
    raised: str | None = None
    """The type of the exception that left the body: the step has failed, whatever `ok` says."""
    timed = True
    """False when the duration is unknown and must not be reported."""
    error: str | None = None
    shared: Any = None
    _others: FrameScopes[Step] | None = None
    """Steps of blocks that enter this one although it was entered before."""

    def __init__(self, kind: str, name: str | None) -> None:
        self.kind = kind
        self.name = name

    def __enter__(self) -> Self:
        if self.started:
            return self._enter_again(sys._getframe(1))
        live = CURRENT.get() or current_trace()
        if type(live) is LiveTrace:
            self.live = live
            if live.otel_span is not None and not live.closed:
                self._guarded(live.recorder.open_shared, self)
        elif live is None:
            OUTSIDE.entered(self.kind)
        self.started = perf_counter_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._others is not None and self._leave_other(error, sys._getframe(1)):
            return
        self.ended = perf_counter_ns()
        live = self.live
        if live is None:
            return
        self.live = None  # no cycle: a finished trace is freed without the collector
        try:
            if error is not None:
                self.raised = type_name(error)
            if self.shared is not None:
                self._unshare()
            if live.closed:
                live.recorder.counters.late += 1
            else:
                self._record(live)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.report("step", mistake)

    async def __aenter__(self) -> Self:
        return self._enter_again(sys._getframe(1)) if self.started else self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._others is None or not self._leave_other(error, sys._getframe(1)):
            self.__exit__(kind, error, traceback)

    def _enter_again(self, frame: Any) -> Self:
        """Enter a step of its own for a block that shares this one, as requests at once may do.

        What was recorded of the first must not change: it may not be sent yet.
        """
        GUARD.warn_once(
            f"shared {self.kind}",
            "one rag_monitor.%s(...) is entered more than once; use what `with ... as` gives, for "
            "what is assigned to the shared object itself is lost",
            self.kind,
        )
        fresh: Any = self._again()
        others = self.__dict__.setdefault("_others", FrameScopes())
        others.enter(frame, fresh)
        entered: Self = fresh.__enter__()
        return entered

    def _leave_other(self, error: BaseException | None, frame: Any) -> bool:
        """Leave the step of the block in `frame`; False: that block has entered this one."""
        others: FrameScopes[Step] = self.__dict__["_others"]
        step = others.leave(frame) or (others.leave_last() if self.ended else None)
        if step is None:
            return False
        step.__exit__(None if error is None else type(error), error, None)
        return True

    @property
    def failed(self) -> bool:
        """Whether it raised, or the host says that it failed."""
        return self.raised is not None or self.ok is not True

    @property
    def reason(self) -> str | None:
        """Why it failed or is not known whole."""
        return self.raised or self.error

    def _record(self, live: LiveTrace) -> None:
        """Write the step into the trace, and what its kind means for that."""
        live.add_step(self)

    def _again(self) -> Step:
        """A fresh step with the same settings, for each call of a decorated function."""
        return type(self)(self.kind, self.name)

    def _reader(self, function: Callable[..., Any]) -> Arguments | None:
        """What reads the arguments of a decorated function; None: nothing does."""

    def _called(
        self, arguments: Arguments | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Look at the arguments of a decorated call."""

    def _returned(self, result: object) -> None:
        """Look at the result of a decorated call."""

    def _gave(self, piece: object) -> None:
        """Look at one piece of a result that a decorated call streams."""

    def _gave_all(self) -> None:
        """There are no more pieces."""

    def _unshare(self) -> None:
        """Make the span around the step current again: the host's code goes on without it."""
        if self.shared is not None and self.shared[1] is not None and self.live is not None:
            self.live.recorder.leave_shared(self)

    def __call__(self, function: F) -> F:
        """Time every call of `function` as this step: to its result, or to the end of a stream."""
        if isinstance(function, type):
            GUARD.warn_once(
                "class", "a step decorates methods of %s, not the class", function.__name__
            )
            return function
        wrapper: Any = functools.wraps(function)(_timed(self, function, self._reader(function)))
        return wrapper  # type: ignore[no-any-return]

    def _guarded(self, hook: Callable[..., None], *values: Any) -> None:
        try:
            hook(*values)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.report("step", mistake)


class _OpenStep(StreamObserver):
    """A step from the call of a decorated function to its result, however that comes about."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._open = True
        step._guarded(step._unshare)

    def chunk(self, chunk: Any) -> None:
        """Hand a piece to the step."""
        self._step._guarded(self._step._gave, chunk)

    def returned(self, result: Any) -> None:
        """End the step with the whole result."""
        self._step._guarded(self._step._returned, result)
        self._close(None)

    def ended(self, status: str | None = None, ended: int | None = None) -> None:
        """End the step; what nobody reads to its end has failed at nothing."""
        del ended
        if status is None:
            self._step._guarded(self._step._gave_all)
        self._close(None)

    def failed(self, error: BaseException, status: str | None = None) -> None:
        """End the step as failed, unless its reader had enough."""
        del status
        enough = isinstance(error, GeneratorExit)
        if enough:
            self._step._guarded(self._step._gave_all)
        self._close(None if enough else error)

    def _close(self, error: BaseException | None) -> None:
        if self._open:
            self._open = False
            self._step.__exit__(None if error is None else type(error), error, None)


def _timed(prototype: Step, function: Any, arguments: Arguments | None) -> Callable[..., Any]:
    """`function` with a step like `prototype` around each call."""

    def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step:
        step = prototype._again()
        step.__enter__()
        step._guarded(step._called, arguments, args, kwargs)
        return step

    def begin(
        args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[StreamObserver, AsyncGenerator[Any, Any]]:
        inner = function(*args, **kwargs)
        step = enter(args, kwargs)
        return (StreamObserver() if step.live is None else _OpenStep(step)), inner

    def traced_generator(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        step = enter(args, kwargs)
        return (yield from inner if step.live is None else watch(_OpenStep(step), inner))

    async def traced_async(*args: Any, **kwargs: Any) -> Any:
        step = enter(args, kwargs)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            step.__exit__(type(error), error, None)
            raise
        return _finish(step, result, finish_with)

    def traced(*args: Any, **kwargs: Any) -> Any:
        step = enter(args, kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            step.__exit__(type(error), error, None)
            raise
        return _finish(step, result, finish_call)

    if inspect.isasyncgenfunction(function):
        return watching(begin)
    if inspect.isgeneratorfunction(function):
        return traced_generator
    return traced_async if inspect.iscoroutinefunction(function) else traced


def _finish(step: Step, result: Any, finish: Callable[[StreamObserver, Any], Any]) -> Any:
    if step.live is None:
        return result
    if type(result) not in WHOLE:
        return finish(_OpenStep(step), result)
    step._guarded(step._returned, result)
    step.__exit__(None, None, None)
    return result
