"""Watching a result come about, piece by piece or later, without changing how it behaves."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from functools import partial
from itertools import chain
from time import perf_counter_ns
from types import AsyncGeneratorType, CoroutineType, GeneratorType, MethodType
from typing import Any, Final, TypeVar
from weakref import WeakMethod, finalize

from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.peek import items_of, peek, type_name

W = TypeVar("W")

WHOLE: Final = frozenset({str, dict, list})
"""Results that are nothing but themselves."""
_ITERATORS: Final = frozenset({map, filter, chain})
"""Iterators of Python's that can be told nothing: a generator over one behaves as it does."""


class StreamObserver:
    """Hears how a result comes about; this one records nothing. No method raises into the host."""

    __slots__ = ()

    def resume(self) -> None:
        """The host's code runs next."""

    def pause(self) -> None:
        """The host's code has returned, yielded or raised."""

    def streams(self) -> None:
        """The result comes in pieces."""

    def chunk(self, chunk: Any) -> None:
        """A piece."""

    def returned(self, result: Any) -> None:
        """The result, which is whole."""

    def ended(self, status: str | None = None, ended: int | None = None) -> None:
        """There is no more to come; `ended` says since when, in nanoseconds of `perf_counter`."""

    def failed(self, error: BaseException, status: str | None = None) -> None:
        """The host's code raised."""


def watch(
    observer: StreamObserver, generator: Generator[Any, Any, Any]
) -> Generator[Any, Any, Any]:
    """A generator that behaves as `generator`: send, throw, close and return value pass through.

    A trace is current only while `generator` itself runs, never while its consumer does.
    """
    observer.streams()
    advance, value = generator.send, None
    while True:
        observer.resume()
        try:
            chunk = advance(value)
        except StopIteration as stop:
            observer.pause()
            observer.ended()
            return stop.value
        except BaseException as error:
            observer.pause()
            observer.failed(error)
            raise
        observer.pause()
        observer.chunk(chunk)
        try:
            value = yield chunk
            advance = generator.send
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the generator's
            advance, value = generator.throw, error
        chunk = None


Begin = Callable[[tuple[Any, ...], dict[str, Any]], tuple[StreamObserver, AsyncGenerator[Any, Any]]]


def watching(begin: Begin) -> Callable[..., AsyncGenerator[Any, Any]]:
    """An async generator function that passes asend, athrow and aclose through to `begin`'s."""

    async def traced(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        observer, generator = begin(args, kwargs)
        step = _first_step(generator)
        while True:
            observer.resume()
            try:
                chunk = await step
            except StopAsyncIteration:
                observer.pause()
                observer.ended()
                return
            except BaseException as error:
                observer.pause()
                observer.failed(error)
                raise
            observer.pause()
            observer.chunk(chunk)
            try:
                value = yield chunk
                step = generator.asend(value)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the generator's
                step = generator.athrow(error)
            chunk = None

    return traced


def watch_async(
    observer: StreamObserver, generator: AsyncGenerator[Any, Any]
) -> AsyncGenerator[Any, Any]:
    """As `watch`, for an async generator."""
    observer.streams()
    return watching(lambda _args, _kwargs: (observer, generator))()


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


async def watch_coroutine(observer: StreamObserver, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Await `coroutine` as part of what is observed and return its result."""
    observer.resume()
    try:
        result = await coroutine
    except BaseException as error:
        observer.pause()
        observer.failed(error)
        raise
    observer.pause()
    return finish_with(observer, result)


class AnswerStream:
    """Stands in for the body of a streaming response; tells how the stream ends."""

    def __init__(self, observer: StreamObserver, body: Any) -> None:
        observer.streams()
        self._observer = observer
        self._body = body
        self._iterator: Any = None
        self._last: int | None = None

    def __aiter__(self) -> AnswerStream:
        return self

    async def __anext__(self) -> Any:
        if self._iterator is None:
            self._iterator = self._body.__aiter__()
        observer = self._observer
        observer.resume()
        try:
            chunk = await self._iterator.__anext__()
        except StopAsyncIteration:
            observer.pause()
            observer.ended()
            raise
        except BaseException as error:
            observer.pause()
            observer.failed(error)
            raise
        observer.pause()
        observer.chunk(chunk)
        self._last = perf_counter_ns()
        return chunk

    async def aclose(self) -> None:
        """Close the body the way its owner would."""
        close = getattr(self._iterator or self._body, "aclose", None)
        try:
            if close is not None:
                await close()
        finally:
            self._observer.ended("cancelled")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def __del__(self) -> None:
        # the caller went away: nobody will read the rest
        if "_observer" in self.__dict__:
            self._observer.ended("cancelled", self._last)  # it may be collected much later


def _ending(observer: StreamObserver, watcher: W) -> W:
    """`watcher`, of which the end is told even if it never began."""
    finalize(watcher, observer.ended, "abandoned").atexit = False
    return watcher


def when_closed(stream: Any, closed: Callable[[], None]) -> None:
    """Have `closed` called after `stream.close()`, whether that is awaited or not.

    Clients close a stream that is left early, as at the end of a `with`, without closing what it
    iterates, and nothing else tells so before the garbage collection.

    Args:
        stream: An object whose class has a `close`; of others nothing is changed.
        closed: Must not raise.
    """
    close = getattr(stream, "close", None)
    if not callable(close):
        return
    # the stream would be kept until the garbage collection by what it holds itself
    method = WeakMethod(close) if isinstance(close, MethodType) else lambda: close

    def closing(*args: Any, **kwargs: Any) -> Any:
        original = method()
        try:
            return None if original is None else original(*args, **kwargs)
        finally:
            closed()

    async def closing_async(*args: Any, **kwargs: Any) -> Any:
        original = method()
        try:
            return None if original is None else await original(*args, **kwargs)
        finally:
            closed()

    stream.close = closing_async if inspect.iscoroutinefunction(close) else closing


def _watched_inside(observer: StreamObserver, stream: Any) -> bool:
    """Watch what a stream of a client or a response of a framework iterates; it stays itself.

    OpenAI's client and those made like it, and Django, keep it in `_iterator`, Flask in `response`.
    """
    kind = type_name(stream)
    place = "_iterator" if "Stream" in kind else "response" if kind == "Response" else ""
    pieces: Any = peek(stream, place) if place else None
    generator = _generator_of(pieces)
    if generator is None and type(pieces) is not AsyncGeneratorType:
        return False
    try:
        watcher = watch(observer, generator) if generator else watch_async(observer, pieces)
        setattr(stream, place, _ending(observer, watcher))
        if place == "_iterator" and "Response" not in kind:
            when_closed(stream, partial(observer.ended, "abandoned"))
    except Exception as error:  # noqa: BLE001 - the boundary; a stream we may not touch
        GUARD.report("stream", error)
        return False
    return True


def _generator_of(pieces: Any) -> Generator[Any, Any, Any] | None:
    """`pieces` as a generator to watch; None when it is none, has ended, or is running.

    One that was started may be: `stream_with_context` of Flask's has taken a first step.
    """
    kind = type(pieces)
    if kind is GeneratorType:
        state = inspect.getgeneratorstate(pieces)
        return pieces if state in (inspect.GEN_CREATED, inspect.GEN_SUSPENDED) else None
    return _each(pieces) if kind in _ITERATORS else None


def _each(pieces: Iterator[Any]) -> Generator[Any, Any, Any]:
    yield from pieces


def _watch_future(observer: StreamObserver, future: Any) -> bool:
    """Tell `observer` when `future` is done, or given up; False when it is no future we know.

    What it holds is read where asking leaves no trace: `exception()` of a task tells asyncio that
    somebody has seen its failure, and the host would miss the warning that nobody has.
    """
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
            GUARD.report("future", mistake)
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
        GUARD.report("future", mistake)
        return False
    return True


def _is(kind: type, module: str, name: str) -> bool:
    """Whether `kind` is the class `name` or below it; who has not imported it has none."""
    base = getattr(sys.modules.get(module), name, None)
    return isinstance(base, type) and issubclass(kind, base)


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


def finish_call(observer: StreamObserver, result: Any) -> Any:
    """As `finish_with` for a plain function: if it gives a future or task, that is its result.

    An async function that gives one has given its result already: the future is another's.
    """
    if type(result) not in WHOLE and _watch_future(observer, result):
        return result
    return finish_with(observer, result)


def finish_with(observer: StreamObserver, result: Any) -> Any:
    """Tell the observer a call's result, or watch the result if it is a stream or comes later.

    Returns the result itself; a generator, `map` and its like, an async generator or a fresh
    coroutine is replaced by one that watches it, in a plain tuple, too.
    """
    kind = type(result)
    if kind in WHOLE:
        observer.returned(result)
        return result
    watched = _watched(observer, result)
    if watched is not None:
        return watched
    if kind is tuple:  # (stream, passages), (stream, 200)
        for place, item in enumerate(items_of(result)):
            watched = _watched(observer, item)
            if watched is not None:
                return (*result[:place], watched, *result[place + 1 :])
    observer.returned(result)
    return result


def _watched(observer: StreamObserver, result: Any) -> Any:
    """`result`, or what stands for it, if it is not whole yet; else None."""
    kind = type(result)
    generator = _generator_of(result)
    if generator is not None:
        return _ending(observer, watch(observer, generator))
    if kind is AsyncGeneratorType and not result.ag_running and result.ag_frame is not None:
        return _ending(observer, watch_async(observer, result))
    if kind is CoroutineType and inspect.getcoroutinestate(result) == inspect.CORO_CREATED:
        return _ending(observer, watch_coroutine(observer, result))
    if _watched_inside(observer, result):
        return result
    body = peek(result, "body_iterator")
    if body is not None:
        try:
            result.body_iterator = AnswerStream(observer, body)
        except Exception as error:  # noqa: BLE001 - the boundary; a response we may not touch
            GUARD.report("stream", error)
            return None
        return result
    return None
