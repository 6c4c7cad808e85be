"""A Trace as rows, and rows as a Trace."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.trace import (
    Expected,
    Retrieval,
    RetrievedDocument,
    Timings,
    Trace,
    TraceStatus,
    Usage,
    passage_digest,
)
from rag_monitor.store.question_index import pairs
from rag_monitor.store.trace_terms import terms_of
from rag_monitor.store.types import dump_captured

_PLAIN: Final = (
    "app",
    "environment",
    "release",
    "session_id",
    "user_id",
    "error",
    "question",
    "answer",
    "context_block",
    "started_at",
    "model",
    "streamed",
    "truncated",
    "convention",
)
"""Columns named after the field they hold."""
_TIMINGS: Final = (
    "first_byte_ms",
    "generation_ms",
    "end_to_end_ms",
    "retrieval_ms",
    "first_token_ms",
)
_plain_of: Final = attrgetter(*_PLAIN)
_timings_of: Final = attrgetter(*_TIMINGS)
_LARGEST: Final = 2**63 - 1


TRACE_COLUMNS: Final = (
    *_PLAIN,
    *_TIMINGS,
    "status",
    "input_tokens",
    "output_tokens",
    "tags",
    "expected",
    "contexts",
    "history",
    "attributes",
)
"""Of `traces`: what is told of a trace by itself."""
RETRIEVAL_COLUMNS: Final = (
    "project",
    "trace_id",
    "position",
    "query",
    "knowledge_base",
    "latency_ms",
    "reranked",
    "error",
    "documents",
)
"""Of `retrievals`, but for the day."""
HIT_COLUMNS: Final = (
    "project",
    "trace_id",
    "position",
    "kind",
    "name",
    "ok",
    "items",
    "latency_ms",
)
"""Of `hits`, but for the day."""


@dataclass(frozen=True, slots=True)
class TraceRows:
    """One trace, cut into the rows of its tables. `day` and `revision` are filled in on saving."""

    trace: tuple[Any, ...]
    """`TRACE_COLUMNS`."""
    retrievals: list[tuple[Any, ...]]
    """`RETRIEVAL_COLUMNS` of each."""
    hits: list[tuple[Any, ...]]
    """`HIT_COLUMNS` of each."""
    passages: dict[str, str]
    """Content by SHA-256."""
    search: list[int]
    """The pairs of its question, see `store.question_index`."""
    terms: list[int]
    """What it carries, see `store.trace_terms`."""
    content_hash: str
    """Same hash, same trace: no new revision."""
    app: str
    release: str | None
    status: str
    started_at: datetime
    session_id: str | None


def to_rows(trace: Trace, project: str, trace_id: str) -> TraceRows:
    """Cut a trace into rows. The key is the evidence's, whatever the trace says of itself."""
    dumped = _Documents()
    status = trace.status.value
    row = (
        *_plain_of(trace),
        *_timings_of(trace.timings),
        status,
        _count(trace.usage.input_tokens),
        _count(trace.usage.output_tokens),
        list(trace.tags),
        None if trace.expected is None else _dump_expected(trace.expected),
        None if trace.contexts is None else dumped.all(trace.contexts),
        [asdict(turn) for turn in trace.history] or None,
        dict(trace.attributes),
    )
    retrievals = [
        (
            project,
            trace_id,
            position,
            retrieval.query,
            retrieval.knowledge_base,
            retrieval.latency_ms,
            retrieval.reranked,
            retrieval.error,
            dumped.all(retrieval.documents),
        )
        for position, retrieval in enumerate(trace.retrievals)
    ]
    hits = [
        (
            project,
            trace_id,
            position,
            hit.kind.value,
            hit.name,
            hit.ok,
            _count(hit.items),
            hit.latency_ms,
        )
        for position, hit in enumerate(trace.hits)
    ]
    described = dict(zip(TRACE_COLUMNS, row, strict=True))
    if not trace.history:
        del described["history"]  # so that traces of releases that knew none stay as they are
    content = [
        described,
        [dict(zip(RETRIEVAL_COLUMNS, values, strict=True)) for values in retrievals],
        [dict(zip(HIT_COLUMNS, values, strict=True)) for values in hits],
    ]
    return TraceRows(
        trace=row,
        retrievals=retrievals,
        hits=hits,
        passages=dumped.passages,
        search=pairs(trace.question),
        terms=terms_of(trace),
        content_hash=hashlib.sha256(dump_captured(content)).hexdigest(),
        app=trace.app,
        release=trace.release,
        status=status,
        started_at=trace.started_at,
        session_id=trace.session_id,
    )


def from_rows(
    row: Any,
    retrievals: Sequence[Any] = (),
    hits: Sequence[Any] = (),
    passages: Mapping[str, str] | None = None,
) -> Trace:
    """Put a trace together again. Columns that were not selected count as None."""
    texts = passages or {}
    values = row._mapping
    contexts = values.get("contexts")
    return Trace(
        trace_id=row.trace_id,
        project=row.project,
        **{name: values.get(name) for name in _PLAIN},
        status=TraceStatus(row.status),
        timings=Timings(**{name: values.get(name) for name in _TIMINGS}),
        usage=Usage(
            input_tokens=values.get("input_tokens"), output_tokens=values.get("output_tokens")
        ),
        tags=tuple(values.get("tags") or ()),
        expected=_load_expected(values.get("expected")),
        contexts=None if contexts is None else _load_documents(contexts, texts),
        history=tuple(EarlierTurn(**turn) for turn in values.get("history") or ()),
        retrievals=tuple(
            Retrieval(
                query=item.query,
                knowledge_base=item.knowledge_base,
                latency_ms=item.latency_ms,
                reranked=item.reranked,
                error=item.error,
                documents=_load_documents(item.documents, texts),
            )
            for item in retrievals
        ),
        hits=tuple(load_hit(item) for item in hits),
        revision=row.revision,
        attributes=values.get("attributes") or {},
    )


def load_hit(row: Any) -> Hit:
    """A row of `hits`."""
    return Hit(
        kind=HitKind(row.kind),
        name=row.name,
        ok=row.ok,
        items=row.items,
        latency_ms=row.latency_ms,
    )


def minute_of(moment: datetime) -> datetime:
    """The start of its minute."""
    return moment.replace(second=0, microsecond=0)


def _count(value: int | None) -> int | None:
    """A whole number that both databases hold."""
    return None if value is None else max(-_LARGEST, min(value, _LARGEST))


class _Documents:
    """Dumps the passages of one trace: mostly what reached the model is what was retrieved."""

    def __init__(self) -> None:
        self.passages: dict[str, str] = {}
        """Content by SHA-256."""
        self._dumped: dict[int, dict[str, Any]] = {}

    def all(self, documents: Iterable[RetrievedDocument]) -> list[dict[str, Any]]:
        """The documents, with hashes in place of their texts."""
        cached, dumped = self._dumped, []
        for document in documents:
            item = cached.get(id(document))
            if item is None:
                item = cached[id(document)] = self._dump(document)
            dumped.append(item)
        return dumped

    def _dump(self, document: RetrievedDocument) -> dict[str, Any]:
        item: dict[str, Any] = {}
        if document.id is not None:
            item["id"] = document.id
        if document.score is not None:
            item["score"] = document.score
        item["rank"] = document.rank
        if document.knowledge_base is not None:
            item["knowledge_base"] = document.knowledge_base
        if document.metadata:
            item["metadata"] = dict(document.metadata)
        if document.content is not None:
            content = clean_text(document.content)
            digest = passage_digest(content)
            self.passages[digest] = content
            item["passage"] = digest
        return item


def _load_documents(
    items: Iterable[Mapping[str, Any]], passages: Mapping[str, str]
) -> tuple[RetrievedDocument, ...]:
    return tuple(
        RetrievedDocument(
            id=item.get("id"),
            content=passages.get(item.get("passage", "")),
            score=item.get("score"),
            rank=item.get("rank", 1),
            knowledge_base=item.get("knowledge_base"),
            metadata=item.get("metadata", {}),
        )
        for item in items
    )


def _dump_expected(expected: Expected) -> dict[str, Any]:
    return {name: value for name, value in asdict(expected).items() if value is not None}


def _load_expected(value: Mapping[str, Any] | None) -> Expected | None:
    if value is None:
        return None
    fields: dict[str, Any] = {
        name: tuple(item) if isinstance(item, list) else item for name, item in value.items()
    }
    return Expected(**fields)
