"""Names that Trace JSON has, at every level: whatever else a row holds is ignored, and reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rag_monitor.domain.hit import HitKind
from rag_monitor.ingest.trace_encoding import TIMINGS

FIELDS: Final = frozenset(
    {
        "id", "trace_id", "app", "question", "contexts", "context_block", "answer", "query",
        "reference", "key_points", "relevant_ids", "timings", "hits", "expected",
        "knowledge_base", "model", "release", "session_id", "user_id", "tags", "started_at",
        "label_faithful", "context_labels", "label", "predicted", "retrievals", "status", "error",
        "environment", "streamed", "usage", "truncated", "meta", "metadata", "attributes",
        "convention", "revision", "project", "received_at", "scores", "feedback", "decisions",
        "reported_scores", "faults",
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
