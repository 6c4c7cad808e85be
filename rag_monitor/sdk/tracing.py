"""`trace`: a decorator for handlers of every kind, and a context manager."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Any, TypeVar, overload

from rag_monitor.sdk.arguments import Arguments
from rag_monitor.sdk.client import prepare
from rag_monitor.sdk.frame_scopes import (
    FrameScopes,
    current_trace,
    enter_generator,
    leave_generator,
)
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.record import NULL, LiveTrace, NullTrace
from rag_monitor.sdk.scope import Extractor, Scope, Spec, open_scope
from rag_monitor.sdk.signature import parameters
from rag_monitor.sdk.streaming import (
    StreamObserver,
    finish_call,
    finish_with,
    watch,
    watching,
)

F = TypeVar("F", bound=Callable[..., Any])


class Tracer:
    """What `trace(...)` gives: decorate a handler with it, or enter it, once or by many at once.

    >>> from rag_monitor.testing import InMemoryExporter
    >>> @trace
    ... def answer(question):
    ...     return f"{question} Yes."
    >>> with InMemoryExporter() as exporter:
    ...     answer("Is it open?")
    'Is it open? Yes.'
    >>> exporter.records[0]["question"], exporter.records[0]["answer"]
    ('Is it open?', 'Is it open? Yes.')
    """

    def __init__(
        self, name: str | None, question: Any, answer: Any, fields: dict[str, Any]
    ) -> None:
        self._name = name
        self._question = question
        self._answer = answer
        self._fields = fields
        self._blocks: FrameScopes[tuple[Scope | None, int | None]] = FrameScopes()

    def __call__(self, function: F) -> F:
        """The same function, traced: same signature, results, exceptions and kind."""
        target: Any = function
        prepare()
        if isinstance(target, type):
            GUARD.warn_once(
                "class", "trace decorates the methods of %s, not the class", target.__name__
            )
            return function
        if isinstance(target, staticmethod | classmethod):
            return type(target)(self(target.__func__))  # type: ignore[return-value]
        wrapped: F = _wrap(target, self._spec_for(target))
        return wrapped

    def __enter__(self) -> LiveTrace | NullTrace:
        return self._enter(sys._getframe(1))

    def _enter(self, frame: Any) -> LiveTrace | NullTrace:
        name = self._name or "request"
        answer = self._answer if callable(self._answer) else None
        scope = open_scope(Spec(name=name, answer=answer, fields=self._fields))
        if scope is None:
            self._blocks.enter(frame, (None, None))
            return current()
        if self._question is not None:
            scope.live.set(question=self._question)
        scope.resume()
        self._blocks.enter(frame, (scope, enter_generator(frame, scope.live)))
        return scope.live

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exit(error, sys._getframe(1))

    def __del__(self) -> None:
        # A frame that held this died without leaving the block: that of an async generator whose
        # loop was closed first. Its identity may be another frame's soon.
        try:
            while self._blocks and (left := self._blocks.leave_last()) is not None:
                scope, key = left
                leave_generator(key)
                if scope is not None:
                    scope.ended("abandoned")
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("abandoned", error)

    def _exit(self, error: BaseException | None, frame: Any) -> None:
        left = self._blocks.leave(frame) or self._blocks.leave_last()
        if left is None:
            return
        scope, key = left
        if scope is None:
            return
        leave_generator(key)
        scope.pause()
        if error is not None:
            scope.failed(error)
        else:
            scope.ended()

    async def __aenter__(self) -> LiveTrace | NullTrace:
        return self._enter(sys._getframe(1))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exit(error, sys._getframe(1))

    def _spec_for(self, function: Callable[..., Any]) -> Spec:
        question: Extractor | None = self._question if callable(self._question) else None
        argument = None
        if isinstance(self._question, str):
            argument = (self._question, _position(function, self._question))
        return Spec(
            name=self._name or _name_of(function),
            question=question,
            question_argument=argument,
            arguments=None if self._question is not None else Arguments(function),
            answer=self._answer if callable(self._answer) else None,
            answer_keys=(self._answer,) if isinstance(self._answer, str) else (),
            fields=self._fields or None,
        )


@overload
def trace(function: F, /) -> F: ...
@overload
def trace(
    name: str | None = None,
    /,
    *,
    question: str | Extractor | None = None,
    answer: str | Extractor | None = None,
    **fields: Any,
) -> Tracer: ...
def trace(
    target: Any = None,
    /,
    *,
    question: str | Extractor | None = None,
    answer: str | Extractor | None = None,
    **fields: Any,
) -> Any:
    """Trace every call of a handler, or the body of a `with`.

    `@trace` and `@trace(...)` decorate functions, async functions, generators, async generators,
    and handlers that return a streaming response of Starlette's kind. `with trace("name",
    question=...) as live:` traces a block; say `live.set(answer=...)` in it.

    A plain function that returns a generator or a fresh coroutine gets back one that watches it; of
    a future or task the result is the answer. A traced call inside a traced call belongs to the
    outer trace.

    Args:
        target: The function, or the trace's name.
        question: As a decorator: an argument's name, or a callable that gets the call's arguments.
            In a `with`: the question. Default: the argument or the field of a request body that is
            named like a question, the last user message of a chat list, or the only text.
        answer: A field's name (`reply`, `data.reply`; also of a JSON body or of events), or a
            callable that gets the return value (or each chunk).
        **fields: As `current().set(...)`, the same for every call.
    """
    if target is None or isinstance(target, str):
        return Tracer(target, question, answer, fields)
    return Tracer(None, question, answer, fields)(target)


def current() -> LiveTrace | NullTrace:
    """The trace of this context: `.set(...)` adds to it, `.trace_id` names it for `feedback`.

    Outside a trace a stand-in that takes everything, keeps nothing and is false.
    """
    live = current_trace()
    return live if live is not None else NULL


def record_contexts(contexts: Any) -> None:
    """Say which passages reached the model, in order; `[]` means none, silence means unknown."""
    live = current_trace()
    if type(live) is not LiveTrace:
        return
    try:
        live.reach_model(contexts)
    except Exception as error:  # noqa: BLE001 - the boundary
        GUARD.report("contexts", error)


def _wrap(function: Any, spec: Spec) -> Any:
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, spec)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, spec)
    elif inspect.iscoroutinefunction(function):
        wrapper = _async(function, spec)
    else:
        wrapper = _plain(function, spec)
    return functools.wraps(function)(wrapper)


def _async_generator(function: Any, spec: Spec) -> Callable[..., Any]:
    def begin(
        args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[StreamObserver, AsyncGenerator[Any, Any]]:
        inner = function(*args, **kwargs)
        scope = open_scope(spec, args, kwargs)
        if scope is None:
            return StreamObserver(), inner
        scope.live.streamed = True
        return scope, inner

    return watching(begin)


def _generator(function: Any, spec: Spec) -> Callable[..., Any]:
    def traced_generator(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        scope = open_scope(spec, args, kwargs)
        return (yield from inner if scope is None else watch(scope, inner))

    return traced_generator


def _async(function: Any, spec: Spec) -> Callable[..., Any]:
    async def traced_async(*args: Any, **kwargs: Any) -> Any:
        scope = open_scope(spec, args, kwargs)
        if scope is None:
            return await function(*args, **kwargs)
        scope.resume()
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            scope.pause()
            scope.failed(error)
            raise
        scope.pause()
        return finish_with(scope, result)

    return traced_async


def _plain(function: Any, spec: Spec) -> Callable[..., Any]:
    def traced(*args: Any, **kwargs: Any) -> Any:
        scope = open_scope(spec, args, kwargs)
        if scope is None:
            return function(*args, **kwargs)
        scope.resume()
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            scope.pause()
            scope.failed(error)
            raise
        scope.pause()
        return finish_call(scope, result)

    return traced


def _name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or getattr(
        getattr(function, "func", None), "__qualname__", None
    )
    return name.rpartition("<locals>.")[2] if isinstance(name, str) else "request"


def _position(function: Callable[..., Any], argument: str) -> int | None:
    names = parameters(function)
    if names is None:
        return None
    if argument not in names:
        GUARD.warn_once(
            f"argument {argument}",
            "trace(question=%r): %s has no such argument; the question stays unknown",
            argument,
            _name_of(function),
        )
        return None
    return names.index(argument)
