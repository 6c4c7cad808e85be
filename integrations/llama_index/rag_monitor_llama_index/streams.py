"""Watching a streamed answer that is read after the query engine returned."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextvars import ContextVar
from typing import Any, Final, TypeVar
from weakref import finalize

from rag_monitor_llama_index.runs import Root

W = TypeVar("W")
DRIVING: Final[ContextVar[Root | None]] = ContextVar("rag_monitor_llama_index", default=None)
"""The trace whose answer is being read: model calls made meanwhile have lost their parent."""


def watch(root: Root, pieces: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The same pieces; ends the trace however the reading ends."""
    try:
        while True:
            token = DRIVING.set(root)
            try:
                piece = next(pieces)
            except StopIteration:
                break
            finally:
                DRIVING.reset(token)
            root.trace.chunk(_text(piece))
            yield piece
    except BaseException as error:
        root.end(error=error)
        raise
    root.end()


async def watch_async(root: Root, pieces: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    """As `watch`, for an async generator."""
    try:
        while True:
            token = DRIVING.set(root)
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                break
            finally:
                DRIVING.reset(token)
            root.trace.chunk(_text(piece))
            yield piece
    except BaseException as error:
        root.end(error=error)
        raise
    root.end()


def ending(root: Root, watcher: W) -> W:
    """`watcher`, whose trace ends with it even if nobody ever read from it."""
    finalize(watcher, root.dropped).atexit = False
    return watcher


def _text(piece: object) -> str | None:
    delta = piece if isinstance(piece, str) else getattr(piece, "delta", None)
    return delta if isinstance(delta, str) else None
