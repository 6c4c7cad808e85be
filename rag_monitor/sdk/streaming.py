"""Watching an answer go by, chunk by chunk, without changing how it behaves."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from time import perf_counter_ns
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, TypeVar
from weakref import finalize

from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.peek import items_of, peek, type_name
from rag_monitor.sdk.scope import Scope

W = TypeVar("W")


def watch(scope: Scope, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """A generator that behaves as `generator`: send, throw, close and return value pass through.

    The trace is current only while `generator` itself runs, never while its consumer does.
    """
    scope.live.streamed = True
    advance, value = generator.send, None
    while True:
        scope.resume()
        try:
            chunk = advance(value)
        except StopIteration as stop:
            scope.pause()
            scope.ended()
            return stop.value
        except BaseException as error:
            scope.pause()
            scope.failed(error)
            raise
        scope.pause()
        scope.chunk(chunk)
        try:
            value = yield chunk
            advance = generator.send
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the generator's
            advance, value = generator.throw, error
        chunk = None


class Bystander:
    """Stands in for a scope where nothing is recorded."""

    def resume(self) -> None:
        """Nothing becomes current."""

    def pause(self) -> None:
        """Nothing was current."""

    def chunk(self, chunk: object) -> None:
        """Look away."""

    def ended(self, status: str | None = None) -> None:
        """Nothing to end."""

    def failed(self, error: BaseException, status: str | None = None) -> None:
        """Nothing to end."""


Begin = Callable[
    [tuple[Any, ...], dict[str, Any]], tuple[Scope | Bystander, AsyncGenerator[Any, Any]]
]


def watching(begin: Begin) -> Callable[..., AsyncGenerator[Any, Any]]:
    """An async generator function that passes asend, athrow and aclose through to `begin`'s."""

    async def traced(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        scope, generator = begin(args, kwargs)
        step = _first_step(generator)
        while True:
            scope.resume()
            try:
                chunk = await step
            except StopAsyncIteration:
                scope.pause()
                scope.ended()
                return
            except BaseException as error:
                scope.pause()
                scope.failed(error)
                raise
            scope.pause()
            scope.chunk(chunk)
            try:
                value = yield chunk
                step = generator.asend(value)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the generator's
                step = generator.athrow(error)
            chunk = None

    return traced


def watch_async(
    scope: Scope | Bystander, generator: AsyncGenerator[Any, Any]
) -> AsyncGenerator[Any, Any]:
    """As `watch`, for an async generator."""
    if isinstance(scope, Scope):
        scope.live.streamed = True
    return watching(lambda _args, _kwargs: (scope, generator))()


def _first_step(generator: AsyncGenerator[Any, Any]) -> Any:
    """Begin `generator` unseen by the event loop's shutdown hooks.

    The watching generator is registered with the loop and closes this one; were both registered,
    the loop would close them at the same time and one of the two would fail.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return generator.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)


async def watch_coroutine(scope: Scope, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Await `coroutine` as part of the trace and return its result."""
    scope.resume()
    try:
        result = await coroutine
    except BaseException as error:
        scope.pause()
        scope.failed(error)
        raise
    scope.pause()
    return finish_with(scope, result)


class AnswerStream:
    """Stands in for the body of a streaming response; ends the trace however the stream ends."""

    def __init__(self, scope: Scope, body: Any) -> None:
        scope.live.streamed = True
        self._scope = scope
        self._body = body
        self._iterator: Any = None
        self._last: int | None = None

    def __aiter__(self) -> AnswerStream:
        return self

    async def __anext__(self) -> Any:
        if self._iterator is None:
            self._iterator = self._body.__aiter__()
        scope = self._scope
        scope.resume()
        try:
            chunk = await self._iterator.__anext__()
        except StopAsyncIteration:
            scope.pause()
            scope.ended()
            raise
        except BaseException as error:
            scope.pause()
            scope.failed(error)
            raise
        scope.pause()
        scope.chunk(chunk)
        self._last = perf_counter_ns()
        return chunk

    async def aclose(self) -> None:
        """Close the body the way its owner would."""
        close = getattr(self._iterator or self._body, "aclose", None)
        try:
            if close is not None:
                await close()
        finally:
            self._scope.ended("cancelled")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def __del__(self) -> None:
        # the caller went away: nobody will read the rest
        if "_scope" in self.__dict__:
            self._scope.ended("cancelled", self._last)  # it may be collected much later


def _ending(scope: Scope, watcher: W) -> W:
    """`watcher`, whose trace ends with it even if it never began."""
    finalize(watcher, scope.ended, "abandoned").atexit = False
    return watcher


def _watched_inside(scope: Scope, stream: Any) -> bool:
    """Watch what a stream of a client or a response of a framework iterates; it stays itself.

    OpenAI's client and those made like it, and Django, keep it in `_iterator`, Flask in `response`.
    """
    kind = type_name(stream)
    place = "_iterator" if "Stream" in kind else "response" if kind == "Response" else ""
    pieces: Any = peek(stream, place) if place else None
    fresh = type(pieces) is GeneratorType and inspect.getgeneratorstate(pieces) == "GEN_CREATED"
    if not fresh and type(pieces) is not AsyncGeneratorType:
        return False
    try:
        watcher = watch(scope, pieces) if fresh else watch_async(scope, pieces)
        setattr(stream, place, _ending(scope, watcher))
    except Exception as error:  # noqa: BLE001 - the boundary; a stream we may not touch
        GUARD.caught("stream", error)
        return False
    return True


def finish_with(scope: Scope, result: Any) -> Any:
    """End the trace with a handler's result, or watch the result if it is a stream.

    Returns the result itself; a fresh generator, async generator or coroutine is replaced by one
    that watches it, in a plain tuple, too.
    """
    kind = type(result)
    if kind is str:
        scope.returned(result)
        return result
    watched = _watched(scope, result)
    if watched is not None:
        return watched
    if kind is tuple:  # (stream, passages), (stream, 200)
        for place, item in enumerate(items_of(result)):
            watched = _watched(scope, item)
            if watched is not None:
                return (*result[:place], watched, *result[place + 1 :])
    scope.returned(result)
    return result


def _watched(scope: Scope, result: Any) -> Any:
    """`result`, or what stands for it, if it is a stream whose end is the trace's; else None."""
    kind = type(result)
    if kind is GeneratorType and inspect.getgeneratorstate(result) == inspect.GEN_CREATED:
        return _ending(scope, watch(scope, result))
    if kind is AsyncGeneratorType and not result.ag_running and result.ag_frame is not None:
        return _ending(scope, watch_async(scope, result))
    if kind is CoroutineType and inspect.getcoroutinestate(result) == inspect.CORO_CREATED:
        return _ending(scope, watch_coroutine(scope, result))
    if _watched_inside(scope, result):
        return result
    body = peek(result, "body_iterator")
    if body is not None:
        try:
            result.body_iterator = AnswerStream(scope, body)
        except Exception as error:  # noqa: BLE001 - the boundary; a response we may not touch
            GUARD.caught("stream", error)
            return None
        return result
    return None
