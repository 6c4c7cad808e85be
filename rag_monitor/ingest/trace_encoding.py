"""`Trace` to Trace JSON: what is exported and what the API shows; and the names at every level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.trace import Expected, Retrieval, RetrievedDocument, Trace

TIMINGS: Final = (
    "first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms", "first_token_ms",
)  # fmt: skip
"""Members of `timings`, milliseconds."""


def encode_trace(trace: Trace) -> dict[str, Any]:
    """Trace JSON of a trace; `decode_trace` of it gives the trace back."""
    expected = trace.expected or Expected()
    row: dict[str, Any] = {
        "trace_id": trace.trace_id,
        "app": trace.app,
        "environment": trace.environment,
        "release": trace.release,
        "session_id": trace.session_id,
        "user_id": trace.user_id,
        "tags": list(trace.tags) or None,
        "question": trace.question,
        "answer": trace.answer,
        "status": trace.status.value,
        "error": trace.error,
        "retrievals": [_encode_retrieval(item) for item in trace.retrievals],
        "contexts": None if trace.contexts is None else _encode_documents(trace.contexts),
        "context_block": trace.context_block,
        "history": [_encode_turn(turn) for turn in trace.history] or None,
        "timings": _present({name: getattr(trace.timings, name) for name in TIMINGS}) or None,
        "hits": [_encode_hit(hit) for hit in trace.hits],
        "expected": None if trace.expected is None else _routes(trace.expected),
        "reference": _listed(expected.references),
        "key_points": _listed(expected.key_points),
        "relevant_ids": None if expected.relevant_ids is None else dict(expected.relevant_ids),
        "context_labels": _listed(expected.context_labels),
        "label_faithful": None if expected.faithful is None else int(expected.faithful),
        "label": expected.label,
        "predicted": expected.predicted,
        "model": trace.model,
        "usage": _present(
            {
                "input_tokens": trace.usage.input_tokens,
                "output_tokens": trace.usage.output_tokens,
            }
        )
        or None,
        "streamed": trace.streamed,
        "truncated": trace.truncated or None,
        "revision": trace.revision if trace.revision > 1 else None,
        "started_at": trace.started_at.isoformat(),
        "convention": None if trace.convention == "rag_monitor" else trace.convention,
        "attributes": dict(trace.attributes) or None,
    }
    withheld = {name: None for name in ("question", "answer") if row[name] is None}
    return _present(row) | withheld


def _routes(expected: Expected) -> dict[str, Any]:
    return _present({kind.value: _listed(expected.names(kind)) for kind in HitKind})


def _encode_retrieval(item: Retrieval) -> dict[str, Any]:
    return _present(
        {
            "query": item.query,
            "knowledge_base": item.knowledge_base,
            "documents": _encode_documents(item.documents, item.knowledge_base),
            "latency_ms": item.latency_ms,
            "reranked": item.reranked or None,
            "error": item.error,
        }
    )


def _encode_documents(
    documents: Sequence[RetrievedDocument], knowledge_base: str | None = None
) -> list[dict[str, Any]]:
    rows = [_encode_document(item, place) for place, item in enumerate(documents, start=1)]
    if knowledge_base is not None:
        # Absent would mean the knowledge base of the whole retrieval.
        for row in rows:
            row.setdefault("knowledge_base", None)
    return rows


def _encode_document(document: RetrievedDocument, place: int) -> dict[str, Any]:
    return _present(
        {
            "rank": None if document.rank == place else document.rank,
            "id": document.id,
            "content": document.content,
            "score": document.score,
            "knowledge_base": document.knowledge_base,
            "metadata": dict(document.metadata) or None,
        }
    )


def _encode_turn(turn: EarlierTurn) -> dict[str, Any]:
    return _present({"question": turn.question, "answer": turn.answer or None})


def _encode_hit(hit: Hit) -> dict[str, Any]:
    return _present(
        {
            "kind": hit.kind.value,
            "name": hit.name,
            "ok": hit.ok,
            "items": hit.items,
            "latency_ms": hit.latency_ms,
        }
    )


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


FIELDS: Final = frozenset(
    {
        "id", "trace_id", "app", "question", "contexts", "context_block", "answer", "query",
        "reference", "key_points", "relevant_ids", "timings", "hits", "expected",
        "knowledge_base", "model", "release", "session_id", "user_id", "tags", "started_at",
        "label_faithful", "context_labels", "label", "predicted", "retrievals", "status", "error",
        "environment", "streamed", "usage", "truncated", "meta", "metadata", "attributes",
        "convention", "revision", "project", "received_at", "scores", "feedback", "decisions",
        "reported_scores", "faults", "history",
    }
)  # fmt: skip
"""Everything Trace JSON knows; `meta` and what else the API adds are accepted and left alone."""

_KINDS: Final = frozenset(map(str, HitKind))
_DOCUMENT: Final = frozenset({"id", "content", "score", "rank", "knowledge_base", "metadata"})
_OBJECTS: Final[Mapping[str, frozenset[str]]] = {
    "timings": frozenset(TIMINGS),
    "usage": frozenset({"input_tokens", "output_tokens"}),
    "expected": _KINDS,
}
_LISTS: Final[Mapping[str, frozenset[str]]] = {
    "contexts": _DOCUMENT,
    "history": frozenset({"question", "answer"}),
    "hits": frozenset({"kind", "name", "ok", "items", "latency_ms"}),
    "retrievals": frozenset(
        {"query", "documents", "knowledge_base", "latency_ms", "reranked", "error"}
    ),
}


def unknown_fields(row: Mapping[str, Any]) -> set[str]:
    """Fields Trace JSON does not know; those inside others as `timings.x` or `contexts[].x`."""
    unknown = {str(name) for name in row} - FIELDS
    for name, allowed in _OBJECTS.items():
        unknown |= _beyond(row.get(name), allowed, f"{name}.")
    for name, allowed in _LISTS.items():
        for item in _items(row.get(name)):
            unknown |= _beyond(item, allowed, f"{name}[].")
    for retrieval in _items(row.get("retrievals")):
        documents = retrieval.get("documents") if isinstance(retrieval, Mapping) else None
        for item in _items(documents):
            unknown |= _beyond(item, _DOCUMENT, "retrievals[].documents[].")
    return unknown


def unknown_kinds(row: Mapping[str, Any]) -> list[str]:
    """What `expected` names that is no kind of hit: nothing is ever held against it."""
    expected = row.get("expected")
    given = expected if isinstance(expected, Mapping) else {}
    return [str(name) for name in given if name not in _KINDS and given[name] is not None]


def _items(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple):
        yield from value


def _beyond(value: object, allowed: frozenset[str], where: str) -> set[str]:
    if not isinstance(value, Mapping):
        return set()
    # Tables give every row the fields that any row has, with nothing in them.
    return {f"{where}{n}" for n, given in value.items() if n not in allowed and given is not None}
