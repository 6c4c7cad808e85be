"""Streaming callbacks that note when the answer's first piece came.

Haystack's tracer interface says nothing about streaming, so the callback has to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import update_wrapper
from time import perf_counter_ns
from types import FunctionType
from typing import Any, TypeVar

from haystack.dataclasses import StreamingChunk

from rag_monitor.sdk.events import never_raise
from rag_monitor_haystack.spans import CURRENT

C = TypeVar("C", bound=Callable[..., Any])


def watch(
    callback: Callable[[StreamingChunk], None] | None = None,
) -> Callable[[StreamingChunk], None]:
    """A streaming callback that tells the trace, then yours.

    Haystack writes callbacks into pipelines and snapshots by their name: this one has yours.

    Args:
        callback: Your own, if any.
    """
    if callback is None:
        return heard

    def watched(chunk: StreamingChunk) -> None:
        _piece(chunk)
        callback(chunk)

    return _named_as(callback, watched)


def watch_async(
    callback: Callable[[StreamingChunk], Awaitable[None]] | None = None,
) -> Callable[[StreamingChunk], Awaitable[None]]:
    """As `watch`, for `run_async` and `Pipeline.stream`."""
    if callback is None:
        return heard_async

    async def watched(chunk: StreamingChunk) -> None:
        _piece(chunk)
        await callback(chunk)

    return _named_as(callback, watched)


def heard(chunk: StreamingChunk) -> None:
    """A streaming callback that tells the trace; what `watch()` gives."""
    _piece(chunk)


async def heard_async(chunk: StreamingChunk) -> None:
    """As `heard`; what `watch_async()` gives."""
    _piece(chunk)


def _named_as(callback: object, watched: C) -> C:
    if type(callback) is FunctionType:  # Haystack refuses the others, and would not know ours
        update_wrapper(watched, callback, updated=())
    return watched


@never_raise("haystack")
def _piece(chunk: StreamingChunk) -> None:
    span = CURRENT.get()
    if span is None or span.root is None or not chunk.content:
        return
    if span.step is not None and hasattr(span.step.step, "first_token"):
        if span.step.step.token_ns is None:  # a later model call answers, not an earlier one
            span.root.first_piece_ns = perf_counter_ns()
        span.step.step.first_token()
    elif span.root.first_piece_ns is None:
        span.root.first_piece_ns = perf_counter_ns()
    span.root.trace.chunk(chunk.content)
