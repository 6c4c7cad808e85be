"""LlamaIndex's methods that have begun and not ended, and streamed answers read after their end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final
from weakref import finalize

from rag_monitor.sdk.events import EventTrace, OpenStep
from rag_monitor.sdk.streaming import StreamObserver, watch, watch_async


@dataclass(slots=True, eq=False)
class Root:
    """The query the user started."""

    trace: EventTrace
    steps: dict[str, OpenStep[Any]] = field(default_factory=dict)
    """Open steps by the id of their span; what is left is closed with the trace."""
    halves: Iterator[int] = field(default_factory=count)
    """A streamed chat is over when it has returned and its answer is written, in any order."""

    def halves_done(self) -> bool:
        """Say that one of the two happened; True for the second. Atomic."""
        return next(self.halves) == 1

    def close(self, span_id: str | None, error: BaseException | None = None) -> None:
        """End the step of a span, if it has one."""
        step = self.steps.pop(span_id, None) if span_id is not None else None
        if step is not None:
            step.close(error)

    def end(self, answer: str | None = None, error: BaseException | None = None) -> None:
        """End the trace and what of it is open."""
        for span_id in list(self.steps):
            self.close(span_id)
        self.trace.end(answer, error=error)

    def dropped(self) -> None:
        """Nobody will read the rest of the answer; nothing if it has been read."""
        for span_id in list(self.steps):
            self.close(span_id)
        self.trace.end(status="abandoned")


@dataclass(slots=True, eq=False)
class Span:
    """One method call of LlamaIndex."""

    root: Root
    is_root: bool
    in_retriever: bool = False
    in_tool: bool = False
    in_generation: bool = False


DRIVING: Final[ContextVar[Root | None]] = ContextVar("rag_monitor_llama_index", default=None)
"""The trace whose answer is being read: model calls made meanwhile have lost their parent."""


class _Reading(StreamObserver):
    """Tells the trace how its answer is read; model calls made by the reading find it."""

    __slots__ = ("_root", "_token")

    def __init__(self, root: Root) -> None:
        self._root = root

    def resume(self) -> None:
        self._token = DRIVING.set(self._root)

    def pause(self) -> None:
        DRIVING.reset(self._token)

    def chunk(self, chunk: Any) -> None:
        self._root.trace.chunk(_text(chunk))

    def ended(self, status: str | None = None, ended: int | None = None) -> None:
        self._root.end()

    def failed(self, error: BaseException, status: str | None = None) -> None:
        self._root.end(error=error)


def watched(root: Root, pieces: Any) -> Any:
    """The same pieces; the trace ends however their reading ends, and if nobody ever reads them."""
    reading = _Reading(root)
    watcher: Any
    if hasattr(pieces, "__anext__"):
        whole = isinstance(pieces, AsyncGenerator)
        watcher = watch_async(reading, pieces if whole else (piece async for piece in pieces))
    else:
        whole = isinstance(pieces, Generator)
        watcher = watch(reading, pieces if whole else (piece for piece in pieces))
    finalize(watcher, root.dropped).atexit = False
    return watcher


def _text(piece: object) -> str | None:
    delta = piece if isinstance(piece, str) else getattr(piece, "delta", None)
    return delta if isinstance(delta, str) else None
