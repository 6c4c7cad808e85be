"""Lists of retrieved passages in every shape retrievers write them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, Final

from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.values import known, members, real, structured

DISTANCE: Final = "distance"
"""Key in `RetrievedDocument.metadata`: smaller is better, so it must not be stored as a score."""

_LIST_KEYS: Final = (
    "documents", "results", "result", "nodes", "source_nodes", "chunks", "contexts", "passages",
    "matches", "hits", "retrievalResults", "data", "output", "outputs",
)  # fmt: skip
_TEXT_KEYS: Final = (
    "content", "page_content", "pageContent", "text", "document", "chunk", "passage", "body",
    "slice",
)  # fmt: skip
_METADATA_TEXT_KEYS: Final = ("text", "page_content", "chunk_text", "content", "chunk", "passage")
_PASSAGE_ID_KEYS: Final = ("chunk_id", "segment_id", "node_id", "doc_id", "document_id")
"""What names a passage before what names the document that it is a part of."""
_ID_KEYS: Final = ("id", "id_", *_PASSAGE_ID_KEYS)
_METADATA_ID_KEYS: Final = (*_PASSAGE_ID_KEYS, "_id")
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
    content = _text_in(item, _TEXT_KEYS)
    if content is None:  # vector databases keep the text beside the other metadata
        content = _text_in(metadata, _METADATA_TEXT_KEYS)
    distance = real(item.get(DISTANCE))
    metadata = {k: v for k, v in metadata.items() if k not in _INTERNAL}
    return RetrievedDocument(
        id=_first_name(item, _ID_KEYS) or _first_name(metadata, _METADATA_ID_KEYS),
        content=content,
        score=_first_real({**metadata, **item}, _SCORE_KEYS),
        knowledge_base=base_in(item) or base_in(metadata),
        metadata={**metadata, DISTANCE: distance} if distance is not None else dict(metadata),
    )


def _text_in(fields: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str):
            return value
        parts = value if isinstance(value, list) else [value]
        texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
        found = [text for text in texts if isinstance(text, str)]
        if found:  # so Bedrock's and OpenAI's searches say it
            return "\n".join(found)
    return None


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
    """Each passage once; ranked anew.

    An id alone does not tell passages apart: pieces of one document may carry its id, and two
    knowledge bases may both count from 1. With another text it is another passage.
    """
    listed = list(documents)
    texts: set[tuple[str | None, str]] = set()
    bases: dict[str, set[str | None]] = defaultdict(set)
    kept: list[RetrievedDocument] = []
    for document in with_text_from(listed, listed):
        if document.content is not None:
            repeated = (document.id, document.content) in texts
            texts.add((document.id, document.content))
        else:
            repeated = document.id is not None and _among(
                document.knowledge_base, bases[document.id]
            )
        if document.id is not None:
            bases[document.id].add(document.knowledge_base)
        if not repeated:
            kept.append(document)
    return ranked(kept)


def _among(base: str | None, bases: set[str | None]) -> bool:
    """Whether a knowledge base may be one of those; nobody says that an unknown one is another."""
    return bool(bases) and (base is None or None in bases or base in bases)


def with_text_from(
    documents: Iterable[RetrievedDocument], sources: Iterable[RetrievedDocument]
) -> tuple[RetrievedDocument, ...]:
    """The documents, with text that is missing taken from a source with the same id.

    Where the id names several texts, they are given out in order if there are as many documents to
    give them to; else nobody knows which is meant, and the text stays missing.
    """
    listed = tuple(documents)
    named: dict[str, list[RetrievedDocument]] = defaultdict(list)
    for source in sources:
        if source.id is not None and source.content is not None:
            named[source.id].append(source)
    missing = Counter((d.id, d.knowledge_base) for d in listed if d.content is None)
    texts = {
        (name, base): _given_out(named.get(name or "", ()), base, count)
        for (name, base), count in missing.items()
    }
    return tuple(
        replace(d, content=next(texts[d.id, d.knowledge_base])) if d.content is None else d
        for d in listed
    )


def _given_out(
    sources: Iterable[RetrievedDocument], base: str | None, count: int
) -> Iterator[str | None]:
    texts = dict.fromkeys(s.content for s in sources if _among(base, {s.knowledge_base}))
    if len(texts) == 1:
        return repeat(next(iter(texts)))
    return iter(texts) if len(texts) == count else repeat(None)


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
