"""Streaming callbacks that note when the answer's first piece came.

Haystack's tracer interface says nothing about streaming, so the callback has to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter_ns

from haystack.dataclasses import StreamingChunk

from rag_monitor.sdk.events import absorbing
from rag_monitor_haystack.spans import CURRENT


def watch(
    callback: Callable[[StreamingChunk], None] | None = None,
) -> Callable[[StreamingChunk], None]:
    """A streaming callback that tells the trace, then yours.

    Args:
        callback: Your own, if any.
    """

    def watched(chunk: StreamingChunk) -> None:
        _piece(chunk)
        if callback is not None:
            callback(chunk)

    return watched


def watch_async(
    callback: Callable[[StreamingChunk], Awaitable[None]] | None = None,
) -> Callable[[StreamingChunk], Awaitable[None]]:
    """As `watch`, for `run_async` and `Pipeline.stream`."""

    async def watched(chunk: StreamingChunk) -> None:
        _piece(chunk)
        if callback is not None:
            await callback(chunk)

    return watched


@absorbing("haystack")
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
