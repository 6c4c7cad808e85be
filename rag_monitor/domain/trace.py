"""A Trace: one answered question, with what was retrieved for it and how long everything took."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.hit import Hit, HitKind

DEFAULT_PROJECT = "default"


class TraceStatus(StrEnum):
    """How the request ended."""

    OK = "ok"
    ERROR = "error"
    """The handler raised; `Trace.error` says what."""
    CANCELLED = "cancelled"
    """The caller went away or the task was cancelled before the answer was complete."""
    ABANDONED = "abandoned"
    """A streamed answer that nobody read to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedDocument:
    """One passage as the retriever returned it."""

    id: str | None = None
    content: str | None = None
    """None when the sender withheld the text; an empty string is an empty passage."""
    score: float | None = None
    """The retriever's own score, larger is better; not comparable between retrievers."""
    rank: int = 1
    """1-based place in its list."""
    knowledge_base: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One call of a retriever. An empty `documents` means it recalled nothing."""

    query: str | None = None
    """The query the retriever saw when it is not the user's question."""
    documents: tuple[RetrievedDocument, ...] = ()
    knowledge_base: str | None = None
    latency_ms: float | None = None
    reranked: bool = False
    """True when `documents` is the order after reranking."""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Milliseconds; None where the sender gave no way to know."""

    first_byte_ms: float | None = None
    """Question received to first non-empty chunk; not streamed: to the whole answer."""
    generation_ms: float | None = None
    """Last retrieval finished to answer complete."""
    end_to_end_ms: float | None = None
    """Question received to answer complete."""
    retrieval_ms: float | None = None
    first_token_ms: float | None = None
    """The model call's own time to its first token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens the application's model used for this answer."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Labels that came with a trace: what should have happened. None means "not labelled"."""

    plugin: tuple[str, ...] | None = None
    knowledge_base: tuple[str, ...] | None = None
    workflow: tuple[str, ...] | None = None
    references: tuple[str, ...] | None = None
    key_points: tuple[str, ...] | None = None
    relevant_ids: Mapping[str, float] | None = None
    """Document id to grade; a plain list of ids has grade 1."""
    context_labels: tuple[int, ...] | None = None
    """1 per relevant passage, in the order of `Trace.contexts`."""
    faithful: bool | None = None
    label: str | None = None
    predicted: str | None = None

    def names(self, kind: HitKind) -> tuple[str, ...] | None:
        """The names of `kind` that should have been hit, or None when that is not labelled."""
        if kind is HitKind.PLUGIN:
            return self.plugin
        if kind is HitKind.KNOWLEDGE_BASE:
            return self.knowledge_base
        return self.workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One answered question. A refused or failed answer is still a trace."""

    trace_id: str
    """32 lower-case hex digits."""
    app: str
    question: str | None
    """None when the sender withheld it."""
    answer: str | None
    """What the user saw, complete or not; None when withheld or never begun."""
    started_at: datetime
    """Aware, UTC: when the question was received."""
    project: str = DEFAULT_PROJECT
    environment: str | None = None
    release: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    tags: tuple[str, ...] = ()
    status: TraceStatus = TraceStatus.OK
    error: str | None = None
    retrievals: tuple[Retrieval, ...] = ()
    contexts: tuple[RetrievedDocument, ...] | None = None
    """What reached the model, in order. Empty: recalled nothing. None: unknown."""
    context_block: str | None = None
    """The undivided context text, where the sender gave only that."""
    history: tuple[EarlierTurn, ...] = ()
    """The turns before the question that the sender told of, in order: the last few, cut. Those of
    its session stand in traces of their own."""
    timings: Timings = field(default_factory=Timings)
    hits: tuple[Hit, ...] = ()
    expected: Expected | None = None
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    streamed: bool | None = None
    revision: int = 1
    """Grows when later spans change the trace; scores of older revisions are replaced."""
    truncated: bool = False
    """Some text was cut to the capture limits."""
    convention: str = "rag_monitor"
    """Which wire convention the trace was read from."""
    attributes: Mapping[str, object] = field(default_factory=dict)
    """Small extras without a field of their own (step errors, dropped counts)."""

    @property
    def query(self) -> str | None:
        """What passages are judged against: the last rewritten query, else the question."""
        for retrieval in reversed(self.retrievals):
            if retrieval.query:
                return retrieval.query
        return self.question


def passage_digest(content: str) -> str:
    """SHA-256 of a passage in hexadecimal, by which it is stored once however often it recurs."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def derive_trace_id(project: str, app: str, id_: str) -> str:
    """The trace id of an imported row: `id_` itself if it is 32 hex digits, else a hash of it.

    The same (project, app, id) always gives the same trace id, so importing twice changes nothing.
    """
    if len(id_) == 32 and all(c in "0123456789abcdefABCDEF" for c in id_) and set(id_) != {"0"}:
        return id_.lower()
    key = "\0".join((project, app, id_)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(key).hexdigest()[:32]


def busy_ns(intervals: Iterable[tuple[int, int]]) -> int:
    """Nanoseconds covered by at least one of the intervals: the length of their union.

    Args:
        intervals: Start and end of each, in nanoseconds of one clock; any order.

        >>> busy_ns([(0, 10), (5, 15), (20, 30)])
        25
    """
    busy, until = 0, 0
    for start, end in sorted(intervals):
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy


def utc_from_ns(ns: int) -> datetime:
    """An aware UTC datetime from Unix nanoseconds, microsecond precision."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
