"""Lists of retrieved passages in every shape retrievers write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.values import known, members, real, structured

DISTANCE: Final = "distance"
"""Key in `RetrievedDocument.metadata`: smaller is better, so it must not be stored as a score."""

_LIST_KEYS: Final = (
    "documents", "results", "result", "nodes", "source_nodes", "chunks", "contexts", "passages",
    "matches", "hits", "data", "output", "outputs",
)  # fmt: skip
_TEXT_KEYS: Final = (
    "content", "page_content", "text", "document", "chunk", "passage", "body", "slice",
)  # fmt: skip
_ID_KEYS: Final = ("id", "id_", "doc_id", "document_id", "chunk_id", "segment_id", "node_id")
_METADATA_ID_KEYS: Final = ("doc_id", "document_id", "chunk_id", "segment_id", "node_id", "_id")
_SCORE_KEYS: Final = ("score", "relevance_score", "similarity", "similarity_score")
_INTERNAL: Final = frozenset({"embedding"})
_BASE_KEYS: Final = (
    "knowledge_base", "knowledge_base_id", "kb_id", "kb", "dataset_id", "dataset_name",
    "collection", "collection_name", "index_name", "data_source_id",
)  # fmt: skip


def documents_in(value: object) -> tuple[RetrievedDocument, ...] | None:
    """The passages in an output value, ranked in order; None when there is no list to read."""
    items = _list_in(value, 0)
    if items is None:
        return None
    read = [_document(item) for item in items]
    found = [document for document in read if document is not None]
    if read and not found:
        return None
    return ranked(found)


def _list_in(value: object, depth: int) -> Sequence[Any] | None:
    value = structured(value)
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping) and depth < 4:
        for key in _LIST_KEYS:
            if key in value:
                found = _list_in(value[key], depth + 1)
                if found is not None:
                    return found
    return None


def _document(item: object) -> RetrievedDocument | None:
    item = structured(item)
    if isinstance(item, list) and len(item) == 2 and real(item[1]) is not None:
        inner = _document(item[0])
        return None if inner is None else replace(inner, score=real(item[1]))
    if isinstance(item, str):
        # LlamaIndex's repr of a node is neither its text nor its id.
        return None if item.startswith("<") else RetrievedDocument(content=item)
    if not isinstance(item, Mapping):
        return None
    fields: Mapping[str, Any] = item
    if fields.get("lc") and isinstance(fields.get("kwargs"), Mapping):
        fields = fields["kwargs"]
    node = fields.get("node")
    if isinstance(node, Mapping):
        fields = {**node, "score": fields.get("score")}
    return document_of(fields, members(fields.get("metadata")))


def document_of(item: Mapping[str, Any], metadata: Mapping[str, Any]) -> RetrievedDocument:
    """One passage from its fields; an id or score the fields lack is looked for in the metadata."""
    content = next((item[k] for k in _TEXT_KEYS if isinstance(item.get(k), str)), None)
    distance = real(item.get(DISTANCE))
    metadata = {k: v for k, v in metadata.items() if k not in _INTERNAL}
    return RetrievedDocument(
        id=_first_name(item, _ID_KEYS) or _first_name(metadata, _METADATA_ID_KEYS),
        content=content,
        score=_first_real({**metadata, **item}, _SCORE_KEYS),
        knowledge_base=base_in(item) or base_in(metadata),
        metadata={**metadata, DISTANCE: distance} if distance is not None else dict(metadata),
    )


def base_in(fields: Mapping[str, Any]) -> str | None:
    """The name or id of a knowledge base among metadata."""
    return _first_name(fields, _BASE_KEYS)


def _first_name(fields: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    for key in keys:
        value = structured(fields.get(key))
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        name = known(value)
        if name is not None:
            return name
    return None


def _first_real(fields: Mapping[str, Any], keys: Iterable[str]) -> float | None:
    return next((number for key in keys if (number := real(fields.get(key))) is not None), None)


def ranked(documents: Iterable[RetrievedDocument]) -> tuple[RetrievedDocument, ...]:
    """The documents with ranks 1, 2, … in this order."""
    return tuple(
        document if document.rank == rank else replace(document, rank=rank)
        for rank, document in enumerate(documents, start=1)
    )


def without_repeats(documents: Iterable[RetrievedDocument]) -> tuple[RetrievedDocument, ...]:
    """Each passage once, by id, else by text; ranked anew."""
    seen: set[str] = set()
    kept: list[RetrievedDocument] = []
    for document in documents:
        key = document.id or document.content
        if key is None or key not in seen:
            kept.append(document)
            seen.add(key or "")
    return ranked(kept)


def with_text_from(
    documents: Iterable[RetrievedDocument], sources: Iterable[RetrievedDocument]
) -> tuple[RetrievedDocument, ...]:
    """The documents, with text that is missing taken from a source with the same id."""
    texts = {d.id: d.content for d in sources if d.id is not None and d.content is not None}
    return tuple(
        replace(d, content=texts.get(d.id)) if d.content is None and d.id is not None else d
        for d in documents
    )


def indexed(attributes: Mapping[str, object], prefix: str) -> list[dict[str, object]]:
    """Lists flattened as `<prefix><index>.<suffix>`, gathered again in numeric order."""
    found: dict[int, dict[str, object]] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        number, dot, suffix = key[len(prefix) :].partition(".")
        if dot and number.isascii() and number.isdigit() and len(number) < 9:
            found.setdefault(int(number), {})[suffix] = value
    return [found[number] for number in sorted(found)]
