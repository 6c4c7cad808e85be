"""Retrieved documents of known shapes, taken as a shallow copy inside the call."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from rag_monitor.sdk.peek import fields_of, first, number_of, peek, text_of, type_name

MAX_DOCUMENTS: Final = 100
MAX_METADATA: Final = 20
"""Keys kept of the metadata of one document."""
MAX_PARTS: Final = 20
"""Parts of one document's content."""
_LONGEST_VALUE: Final = 8192
"""Characters taken of one value of metadata; the sender cuts it to half of that, once secrets that
lie on the cut are hidden."""
CONTENT_KEYS: Final = ("content", "page_content", "text", "document", "passage", "chunk")
ID_KEYS: Final = ("id", "id_", "doc_id", "document_id", "chunk_id")
_PART_KEYS: Final = ("text",)
SCORE_KEYS: Final = ("score", "relevance_score", "similarity")


Document = tuple[str | None, object, object, object, dict[Any, Any] | None]
"""One passage by reference: content, id, score, knowledge base and metadata; sanitised later.

Plain, because making a named tuple takes longer than reading all five.
"""
Taken = tuple[tuple[Document, ...], int, bool]
"""A shallow copy of one result list: its documents, their characters, and whether it was cut."""


def take_documents(value: Any, max_chars: int) -> Taken | None:
    """Copy at most 100 documents; None when `value` is nothing we know how to read.

    `value` is a list or tuple of documents, or one document. Iterators are never consumed.

    Args:
        value: What the retriever returned.
        max_chars: Longest content kept of one document, in characters.
    """
    kind = type(value)
    items: Any
    if issubclass(kind, list):
        size, items = list.__len__(value), list.__getitem__(value, slice(MAX_DOCUMENTS))
    elif issubclass(kind, tuple) and not _is_scored(value):
        size, items = tuple.__len__(value), tuple.__getitem__(value, slice(MAX_DOCUMENTS))
    else:
        return _take_single(value, max_chars)
    if items and type(items[0]) is list:
        size, items = _flat(items, size)
    chars = 0
    cut = size > MAX_DOCUMENTS
    taken: list[Document] = []
    for item in items:
        document = _from_dict(item) if type(item) is dict else _take_one(item)
        content = document[0]
        if content is not None:
            if len(content) > max_chars:
                content = content[:max_chars]
                document = (content, *document[1:])
                cut = True
            chars += len(content)
        taken.append(document)
    return tuple(taken), chars, cut


def _flat(items: Any, size: int) -> tuple[int, list[Any]]:
    """The items of lists inside a list, as vector stores give one for each query."""
    found: list[Any] = []
    for item in items:
        if type(item) is not list:
            found.append(item)
            continue
        found += item[: max(0, MAX_DOCUMENTS - len(found))]
        size += len(item) - 1
    return size, found[:MAX_DOCUMENTS]


def _take_single(value: Any, max_chars: int) -> Taken | None:
    if value is None or _take_one(value)[0] is None:
        return None
    return take_documents([value], max_chars)


def _is_scored(value: Any) -> bool:
    return tuple.__len__(value) == 2 and number_of(tuple.__getitem__(value, 1)) is not None


def _take_one(item: Any) -> Document:
    kind = type(item)
    if kind is str:
        return item, None, None, None, None
    if kind is dict:
        return _from_dict(item)
    text = text_of(item)
    if text is not None:
        return text, None, None, None, None
    if issubclass(kind, dict):
        return _from_dict(dict(dict.items(item)))
    if issubclass(kind, tuple) and _is_scored(item):
        content, id_, _, knowledge_base, metadata = _take_one(tuple.__getitem__(item, 0))
        return content, id_, tuple.__getitem__(item, 1), knowledge_base, metadata
    names = fields_of(kind) if issubclass(kind, tuple) else None
    if names is not None:
        return _from_dict(dict(zip(names, tuple.__iter__(item), strict=False)))
    return _from_object(item)


def _from_dict(item: dict[Any, Any]) -> Document:
    get = item.get
    content, id_, score, metadata = get("content"), get("id"), get("score"), get("metadata")
    if type(content) is not str:
        content = _text_in(content if content is not None else first(item, CONTENT_KEYS))
    known = _copy(metadata) if metadata else None
    if id_ is None:
        id_ = first(item, ID_KEYS) or _of(known, ID_KEYS)
    if score is None:
        score = first(item, SCORE_KEYS) or _of(known, SCORE_KEYS)
    return content, id_, score, get("knowledge_base"), known


def _from_object(item: Any) -> Document:
    node = peek(item, "node")
    body = item if node is None else node
    content = _text_in(first(body, CONTENT_KEYS))
    if content is None:
        content = text_of(peek(peek(body, "text_resource"), "text"))
    metadata = _copy(peek(body, "metadata"))
    if content is None:
        return None, None, None, None, {"type": type_name(item)}
    id_ = first(body, ID_KEYS) or _of(metadata, ID_KEYS)
    score = first(item, SCORE_KEYS)
    if score is None:
        score = _of(metadata, SCORE_KEYS)
    return content, id_, score, peek(body, "knowledge_base"), metadata


def _text_in(content: Any) -> str | None:
    """A text, or that of an object or parts with a `text`, as Bedrock and OpenAI give it."""
    kind = type(content)
    if kind is dict:
        return text_of(content.get("text"))
    if kind is not list:
        return text_of(content)
    texts = [text_of(first(part, _PART_KEYS)) for part in content[:MAX_PARTS]]
    return "\n".join(text for text in texts if text is not None) or None


def _copy(metadata: Any) -> dict[Any, Any] | None:
    if not issubclass(type(metadata), dict):
        return None
    some = islice(dict.items(metadata), MAX_METADATA + 1)  # one more shows the sender that it cuts
    return {key: cut_value(value) for key, value in some}


def cut_value(value: Any) -> Any:
    """`value`, cut if it is a long text: a short label must not keep megabytes alive."""
    if type(value) is str and len(value) > _LONGEST_VALUE:
        return value[:_LONGEST_VALUE]
    return value


def _of(metadata: dict[Any, Any] | None, names: tuple[str, ...]) -> object:
    return first(metadata, names) if metadata else None
