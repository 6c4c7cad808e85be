"""Passages in every shape in which retrievers, vector databases and rerankers return them.

A shape is a list somewhere in an object, or one list per field. Its items are texts, or objects
that keep text, id and score in themselves or in one of a few members (`payload`, `_source` …). A
list that was cut off is unknown: judged by a part of it, an answer would look unsupported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rag_monitor.domain.document import AGE_NAMES
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.documents import DISTANCE, ranked
from rag_monitor.ingest.values import (
    authored,
    is_nothing,
    members,
    present_name,
    printed,
    real,
    structured,
    whole,
)

_DEPTH: Final = 6
_LISTS: Final = (
    "documents", "results", "result", "nodes", "source_nodes", "chunks", "contexts", "passages",
    "matches", "hits", "points", "objects", "records", "retrievalResults", "retrieval_results",
    "response", "docs", "children", "value", "items", "source_documents", "retrieved_documents",
    "root", "data", "Get", "edges", "output", "outputs", "vectors",
)  # fmt: skip
"""Members that hold the list, or an object that holds it."""
_MAPS: Final = ("vectors", "documents", "docs")
"""Members that hold passages by their ids."""
_COLUMNS: Final = {
    "id": "id", "ids": "id", "text": "document", "texts": "document", "content": "document",
    "page_content": "document", "document": "document", "documents": "document",
    "metadata": "metadata", "metadatas": "metadata", "score": "score", "scores": "score",
    "distance": DISTANCE, "distances": DISTANCE,
}  # fmt: skip
"""One list per field: Chroma, data frames."""
_HOLDERS: Final = (
    "document", "node", "payload", "_source", "fields", "entity", "properties", "segment", "chunk",
    "doc", "record", "passage", "object", "kwargs", "derivedStructData", "_additional",
)  # fmt: skip
"""Members of an item that have what the item lacks."""
_STORES: Final = frozenset({"payload", "_source", "fields", "entity", "properties"})
"""Those of databases: what else is in them is metadata."""
_METADATA: Final = ("metadata", "meta", "meta_data", "doc_metadata", "metadata_")
_TEXTS: Final = (
    "content", "page_content", "pageContent", "text", "document", "chunk", "passage", "body",
    "slice", "chunk_text", "chunk_content", "content_with_weight", "long_text", "documentExcerpt",
    "extractive_segments", "extractiveSegments", "extractive_answers", "extractiveAnswers",
    "snippet", "snippets", "paragraph", "memory", "fact", "answer", "data", "output",
    "内容", "正文", "文本",
)  # fmt: skip
_PART_TEXTS: Final = ("text", "Text", "content", "snippet")
"""What holds the text of a part of a text."""
_PAIRS: Final = (("content", "answer"), ("question", "answer"), ("q", "a"))
"""Fields of a question that is kept with its answer: both are the passage."""
_METADATA_TEXTS: Final = (
    "text", "page_content", "chunk_text", "content", "chunk", "passage", "document",
    "AMAZON_BEDROCK_TEXT", "AMAZON_BEDROCK_TEXT_CHUNK",
)  # fmt: skip
_NODE: Final = "_node_content"
"""JSON of a node in the payload of a vector database, where LlamaIndex put it."""
_PASSAGE_IDS: Final = ("chunk_id", "segment_id", "node_id", "doc_id", "document_id", "documentId")
"""What names a passage before what names the document that it is a part of."""
_IDS: Final = ("id", "id_", "_id", "uuid", "point_id", "objectID", "pk", *_PASSAGE_IDS, "key",
               "file_id", "编号", "文档编号")  # fmt: skip
_METADATA_IDS: Final = (*_PASSAGE_IDS, "_id")
_SCORES: Final = (
    "score", "relevance_score", "relevanceScore", "similarity", "similarity_score", "_score",
    "@search.rerankerScore", "@search.score", "_relevance_score", "rerank_score", "_rankingScore",
    "certainty", "relevance",
)  # fmt: skip
_DISTANCES: Final = (DISTANCE, "_distance", "vector_distance", "$distance")
_VECTORS: Final = frozenset({"embedding", "embeddings", "vector", "vectors", "values"})
_NO_TEXT: Final = frozenset(
    {"title", "name", "url", "uri", "link", "source", "path", "file", "filename", "file_name",
     "author", "lang", "language", "type", "category", "tag", "hash", "date", "namespace"}
)  # fmt: skip
_BASES: Final = (
    "knowledge_base", "knowledge_base_id", "kb_id", "kb", "dataset_id", "dataset_name",
    "collection", "collection_name", "index_name", "data_source_id", "_index", "_collection_name",
)  # fmt: skip
_PLACES: Final = ("index", "corpus_id", "document_index", "doc_index", "original_index", "idx")
_PREFIX: Final = "document."
_MOST_MEMBERS: Final = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reranked passage stood among what was reranked."""

    index: int
    """From 0."""
    score: float | None


def documents_in(value: object) -> tuple[RetrievedDocument, ...] | None:
    """The passages in an output value, ranked in order; None when there is no list to read."""
    items = _list_in(value, 0)
    if items is None:
        return None
    read = [_document(item) for item in items]
    if items and all(document is None or _is_blank(document) for document in read):
        return None
    return ranked(document or RetrievedDocument() for document in read)


def ranking_in(value: object) -> tuple[Place, ...] | None:
    """The places in an output value that names passages by nothing else; None: it is not such."""
    items = _list_in(value, 0)
    if not items:
        return None
    places = [_place(structured(item)) for item in items]
    ranking = tuple(place for place in places if place is not None)
    return ranking if len(ranking) == len(places) else None


def _place(item: object) -> Place | None:
    if not isinstance(item, Mapping):
        return None
    fields = _plain(item)
    index = next((n for key in _PLACES if (n := whole(fields.get(key))) is not None), None)
    return None if index is None else Place(index, _first_real([fields], _SCORES))


def _plain(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields by their names, also where each is called `document.…` or has a capital letter."""
    if not any(key.startswith(_PREFIX) or key[:1].isupper() for key in item):
        return item
    return {_plain_name(key): value for key, value in item.items()}


def _plain_name(key: str) -> str:
    name = key.removeprefix(_PREFIX)
    return name if name.isupper() or name[1:2].isupper() else name[:1].lower() + name[1:]


def _is_blank(document: RetrievedDocument) -> bool:
    return document.id is None and document.content is None


def _list_in(value: object, depth: int) -> Sequence[Any] | None:
    value = printed(value)
    if isinstance(value, list):
        return _flat(value, depth)
    if not isinstance(value, Mapping) or depth > _DEPTH:
        return None
    value = _plain(value)
    columns = _in_columns(value)
    if columns is not None:
        return columns
    empty: Sequence[Any] | None = None
    for key in _LISTS:
        items = _list_in(value[key], depth + 1) if key in value else None
        if items:
            return items
        empty = items if empty is None else empty
    for key in _MAPS:
        if (items := _by_id(structured(value.get(key)))) is not None:
            return items
    return _below(value, depth) if empty is None else empty


def _by_id(value: object) -> list[dict[str, Any]] | None:
    """Passages that an object holds by their ids."""
    items = list(value.items()) if isinstance(value, Mapping) else []
    if not items or not all(isinstance(item, Mapping) for _, item in items):
        return None
    passages = [{"id": name, **item} for name, item in items]
    return passages if all(map(_has_text, passages)) else None


def _below(value: Mapping[str, Any], depth: int) -> Sequence[Any] | None:
    """The lists under members of other names: those with texts, of each in turn.

    Such a name is that of a component, of a class of Weaviate's or of a field of a GraphQL schema.
    """
    inner = [item for item in map(printed, value.values()) if isinstance(item, (Mapping, list))]
    if len(inner) == len(value) == 1:
        return _list_in(inner[0], depth + 1)
    lists = (_list_in(item, depth + 1) for item in inner[:_MOST_MEMBERS])
    with_texts = [items for items in lists if items and all(map(_has_text, items))]
    return [item for items in with_texts for item in items] or None


def _has_text(item: object) -> bool:
    """Whether it is an object with the text of a passage."""
    item = structured(item)
    return isinstance(item, Mapping) and document_of(item).content is not None


def _flat(items: list[Any], depth: int) -> list[Any]:
    """The hits of several queries in one list; `[document, score]` is a document."""
    if items and all(isinstance(item, list) and not _is_pair(item) for item in items):
        return [hit for item in items for hit in item]
    if (
        items
        and depth <= _DEPTH
        and not any(isinstance(item, str) or _has_text(item) for item in items)
    ):
        replies = [
            _list_in(item, depth + 1) if isinstance(item, Mapping) else None for item in items
        ]
        if all(reply is not None for reply in replies):
            return [hit for reply in replies for hit in reply or ()]
    return items


def _is_pair(item: object) -> bool:
    return (
        isinstance(item, list)
        and len(item) == 2
        and real(item[1]) is not None
        and isinstance(item[0], (str, Mapping))
        and real(item[0]) is None
    )


def _in_columns(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Items of an object that has one list per field, or one per field and query."""
    columns = {
        field: column
        for name, field in _COLUMNS.items()
        if (column := _column(value.get(name))) is not None
    }
    if columns and all(c and all(isinstance(q, list) for q in c) for c in columns.values()):
        columns = {field: [hit for query in c for hit in query] for field, c in columns.items()}
    lengths = {len(column) for column in columns.values()}
    if len(columns) < 2 or len(lengths) != 1 or columns.keys().isdisjoint(("id", "document")):
        return None
    return [{field: c[at] for field, c in columns.items()} for at in range(lengths.pop())]


def _column(value: object) -> list[Any] | None:
    value = structured(value)
    if isinstance(value, Mapping) and value and all(str(key).isdigit() for key in value):
        return list(value.values())  # so data frames write it
    return value if isinstance(value, list) else None


def _document(item: object) -> RetrievedDocument | None:
    item = printed(item)
    if _is_pair(item):
        inner = _document(item[0])  # type: ignore[index]
        return None if inner is None else replace(inner, score=real(item[1]))  # type: ignore[index]
    if isinstance(item, str):
        text = _text(item)
        return None if text is None else RetrievedDocument(content=text)
    return document_of(item) if isinstance(item, Mapping) else None


def document_of(item: Mapping[str, Any]) -> RetrievedDocument:
    """One passage from its fields; what they lack is looked for in members of it."""
    layers = list(_layers(_plain(item), 0))
    metadata = _metadata(layers)
    distance = _first_real(layers, _DISTANCES)
    if distance is None:
        distance = _first_real([metadata], _DISTANCES)
    kept = {k: v for k, v in metadata.items() if k not in _VECTORS and k != _NODE}
    return RetrievedDocument(
        id=_first_name(layers, _IDS) or _first_name([metadata], _METADATA_IDS),
        content=_content(layers, metadata),
        score=_first_real([*layers, metadata], _SCORES),
        knowledge_base=next((b for part in (*layers, metadata) if (b := base_in(part))), None),
        metadata={**kept, DISTANCE: distance} if distance is not None else kept,
    )


def _layers(item: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    """The item, then what it holds, from the outside in."""
    yield item
    for key in _HOLDERS:
        inner = structured(item[key]) if key in item else None
        if isinstance(inner, Mapping) and depth < 3:
            yield from _layers(_plain(inner), depth + 1)


def _metadata(layers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    metadata: dict[str, Any] = {}
    for layer in reversed(layers):
        metadata |= {name: layer[name] for name in AGE_NAMES if _is_plain(layer.get(name))}
        for key in _STORES & layer.keys():
            store = members(layer[key])
            metadata |= {
                k: v for k, v in store.items() if k not in (*_TEXTS, *_METADATA, *_HOLDERS)
            }
    for layer in reversed(layers):
        for key in reversed(_METADATA):
            metadata |= members(layer[key]) if key in layer else {}
    return metadata


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)


def _content(layers: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> str | None:
    for layer in layers:
        if (text := _pair(layer) or _text_under(layer, _TEXTS)) is not None:
            return text
    if (text := _text_under(metadata, _METADATA_TEXTS)) is not None:
        return text
    node = members(metadata.get(_NODE))
    if (text := _text_under(node, _TEXTS)) is not None:
        return text
    return _only_text(metadata) if any(_STORES & layer.keys() for layer in layers) else None


def _pair(fields: Mapping[str, Any]) -> str | None:
    """A question and its answer, as knowledge bases of such pairs keep them."""
    for question, answer in _PAIRS:
        texts = [fields.get(question), fields.get(answer)]
        if all(isinstance(text, str) and _text(text) is not None for text in texts):
            return "\n".join(map(str, texts))
    return _text_under(fields, ("q",)) if "a" in fields else None


def _text_under(fields: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    for key in keys:
        value = fields.get(key)
        if value is None:
            continue
        if isinstance(value, str):
            holds = key in _HOLDERS and isinstance(structured(value), Mapping)
            if not holds and (text := _text(value)) is not None:
                return text
            continue
        parts = value if isinstance(value, list) else [value]
        texts = [_part_text(part) if isinstance(part, Mapping) else part for part in parts]
        present_texts = [
            text for text in texts if isinstance(text, str) and _text(text) is not None
        ]
        if present_texts:  # so Bedrock, OpenAI's searches and Elasticsearch's fields have it
            return "\n".join(present_texts)
    return None


def _part_text(part: Mapping[str, Any]) -> object:
    return next((part[key] for key in _PART_TEXTS if key in part), None)


def _text(value: str) -> str | None:
    """A passage's text; None where it is withheld, empty, or printed by a language, not written."""
    text = authored(value)
    return None if text is None or is_nothing(text) else text


def _only_text(fields: Mapping[str, Any]) -> str | None:
    """The only text among the fields of a record that cannot be a name."""
    texts = [
        value
        for key, value in fields.items()
        if isinstance(value, str) and key not in _NO_TEXT and not key.endswith(("id", "_at"))
    ]
    return _text(texts[0]) if len(texts) == 1 else None


def base_in(fields: Mapping[str, Any]) -> str | None:
    """The name or id of a knowledge base among metadata."""
    return _first_name([fields], _BASES)


def _first_name(layers: Iterable[Mapping[str, Any]], keys: Iterable[str]) -> str | None:
    for fields in layers:
        for key in keys:
            value = structured(fields[key]) if key in fields else None
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
            name = present_name(value)
            if name is not None:
                return name
    return None


def _first_real(layers: Iterable[Mapping[str, Any]], keys: Iterable[str]) -> float | None:
    for fields in layers:
        for key in keys:
            if key in fields and (number := real(fields[key])) is not None:
                return number
    return None
