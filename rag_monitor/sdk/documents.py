"""Retrieved documents of known shapes, taken as a shallow copy inside the call.

How a result holds its documents is read in `results`; here, how a document holds its fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from rag_monitor.domain.document import AGE_NAMES
from rag_monitor.sdk.field_names import (
    ANSWER_KEYS,
    BODY_KEYS,
    CONTENT_KEYS,
    DISTANCE,
    DISTANCE_KEYS,
    ID_KEYS,
    LABEL_KEYS,
    METADATA_ID_KEYS,
    METADATA_KEYS,
    NODE_KEY,
    PAIR_KEYS,
    SCORE_KEYS,
    VECTOR_KEYS,
    WHOLE_KEYS,
)
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.peek import (
    attributes,
    first,
    holds_fields,
    number_of,
    peek,
    text_of,
    type_name,
)
from rag_monitor.sdk.results import MAX_DOCUMENTS, documents_in
from rag_monitor.sdk.tables import is_scored, row_of

MAX_METADATA: Final = 20
"""Keys kept of the metadata of one document."""
MAX_PARTS: Final = 20
"""Parts of one document's content."""
_LONGEST_VALUE: Final = 8192
"""Characters taken of one value of metadata; the sender cuts it to half of that, once secrets that
lie on the cut are hidden."""
_PLAIN: Final = frozenset({str, dict})
_NAMED: Final = frozenset(
    (*ID_KEYS, *METADATA_ID_KEYS, *SCORE_KEYS, *DISTANCE_KEYS, "knowledge_base")
)
_AGES: Final = frozenset(AGE_NAMES)
_PART_TEXTS: Final = ("text", "content", "snippet")
"""What holds the text of a part of a text."""
_MOST_FIELDS: Final = 50
_DEEPEST: Final = 3
_MOST_BODIES: Final = 20
_MOST_JSON_CHARS: Final = 100_000
"""A node of more is not read in the call."""
_PROSE_CHARS: Final = 80
"""From this length on a text is no mere label."""
_NUMBERS: Final = re.compile(r"[\s\d.,;:+\-eE\[\](){}<>]*")
"""A number or date; a vector as text, which PostgreSQL gives to a driver that lacks the type."""

Document = tuple[str | None, object, object, object, dict[Any, Any] | None]
"""One passage by reference: content, id, score, knowledge base and metadata; sanitised later.

Plain, because making a named tuple takes longer than reading all five.
"""
Taken = tuple[tuple[Document, ...], int, bool]
"""A shallow copy of one result list: its documents, their characters, and whether it was cut."""


def take_documents(value: Any, max_chars: int, *, inner: bool = False) -> Taken | None:
    """Copy at most 100 documents; None when `value` is nothing we know how to read.

    Iterators are never consumed.

    Args:
        value: What the retriever returned.
        max_chars: Longest content kept of one document, in characters.
        inner: It is one reply among several.
    """
    if type(value) is list and value and type(value[0]) in _PLAIN:
        size, items = len(value), value[:MAX_DOCUMENTS]
    else:
        listed = documents_in(value)
        if listed is None:
            if value is None or _take_one(value)[0] is None:
                return None
            listed = 1, [value]
        size, items = listed
    chars = 0
    cut = size > MAX_DOCUMENTS
    taken: list[Document] = []
    for item in items:
        document = _from_dict(item) if type(item) is dict else _take_one(item)
        content = document[0]
        if content is None:
            if item is None:  # what a store gives for an id that it lacks
                continue
            more = None if inner else _inside(item, max_chars)
            if more is not None:
                taken += more[0]
                chars += more[1]
                continue
            _say_unread(item)
            taken.append(document)
            continue
        if len(content) > max_chars:
            content = content[:max_chars]
            document = (content, *document[1:])
            cut = True
        chars += len(content)
        taken.append(document)
    if len(taken) > MAX_DOCUMENTS:
        return tuple(taken[:MAX_DOCUMENTS]), chars, True
    return tuple(taken), chars, cut


def _inside(item: Any, max_chars: int) -> Taken | None:
    """The documents of one reply among several, as of a batch of queries; None when it has none."""
    inner = documents_in(item) if holds_fields(item) else None
    return take_documents(inner[1], max_chars, inner=True) if inner and inner[1] else None


def _say_unread(item: Any) -> None:
    GUARD.warn_once(
        f"document {type_name(item)}",
        "no text was found in a document of type %s; assign texts, or dicts with content, id and "
        "score",
        type_name(item),
    )


def _take_one(item: Any, *, inner: bool = False) -> Document:
    """One document; `inner` is what stands in a row, and is no row itself."""
    kind = type(item)
    if kind is str:
        return item, None, None, None, None
    if kind is dict:
        return _from_dict(item)
    text = text_of(item)
    if text is not None:
        return text, None, None, None, None
    row = None if inner else row_of(item)
    if row is None:
        return _read(item, attributes(item))
    return _from_dict(row) if isinstance(row, dict) else _from_values(row)


def _from_dict(item: dict[Any, Any]) -> Document:
    get = item.get
    content, id_, score, metadata = get("content"), get("id"), get("score"), get("metadata")
    if type(content) is not str:
        return _read(item, item)
    kept = _copy(metadata) if metadata else None
    if not _AGES.isdisjoint(item):
        kept = _with_ages(item, kept)
    if id_ is None or score is None:
        layers = (item, kept, get("_additional"))  # the last is Weaviate's
        return _completed((content, id_, score, get("knowledge_base"), kept), layers)
    return content, id_, score, get("knowledge_base"), kept


def _completed(document: Document, layers: Sequence[Any]) -> Document:
    """The document with what it lacks, by the names of the fields of its layers, outermost first.

    A distance is no score, and is kept among the metadata.
    """
    content, id_, score, base, metadata = document
    distance = None
    for depth, fields in enumerate(layers):
        if not fields or _NAMED.isdisjoint(fields):
            continue
        if id_ is None:
            id_ = first(fields, METADATA_ID_KEYS if depth else ID_KEYS)
        if score is None:
            score = first(fields, SCORE_KEYS)
        if base is None:
            base = fields.get("knowledge_base")
        if distance is None:
            distance = number_of(first(fields, DISTANCE_KEYS))
    if score is None and distance is not None:
        metadata = {**(metadata or {}), DISTANCE: distance}
    return content, id_, score, base, metadata


def _read(item: Any, fields: Mapping[Any, Any]) -> Document:
    """A document by the names of its fields: its own first, then those of what it holds."""
    content = _text_under(fields)
    if content is None:
        bodies = list(islice(_bodies(fields, 0), _MOST_BODIES))
        layers = [fields, *(attributes(body) for body in bodies)]
        content = _text_below(layers)
    else:
        bodies = []
        layers = [fields, *(attributes(inner) for inner in _some(fields, METADATA_KEYS))]
    metadata = _metadata(layers, bodies, content)
    if content is not None and not _AGES.isdisjoint(fields):
        metadata = _with_ages(fields, metadata)
    if content is None and type(item) is not dict:
        metadata = {"type": type_name(item)}
    id_ = fields.get(peek(item, "_pk_name")) if issubclass(type(item), dict) else None
    return _completed((content, id_, None, None, metadata), layers)


def _some(fields: Mapping[Any, Any], names: Sequence[str]) -> Iterator[Any]:
    get = fields.get
    return (value for name in names if (value := get(name)) is not None)


def _bodies(fields: Mapping[Any, Any], depth: int) -> Iterator[Any]:
    """What the item holds its fields in: a node, a payload, a source, and what these hold."""
    for body in _some(fields, BODY_KEYS):
        if holds_fields(body):
            yield body
            if depth < _DEEPEST:
                yield from _bodies(attributes(body), depth + 1)


def _text_under(fields: Mapping[Any, Any]) -> str | None:
    """The text of the first field that is named like one and holds one."""
    if any(name in fields for name in ANSWER_KEYS):
        for question, answer in PAIR_KEYS:
            pair = [text_of(fields.get(name)) for name in (question, answer)]
            if all(pair) or (question == "q" and "a" in fields and pair[0]):
                return "\n".join(text for text in pair if text)
    for value in _some(fields, CONTENT_KEYS):
        text = _text_in(value)
        if text is not None:
            return text
    for value in _some(fields, WHOLE_KEYS):
        text = text_of(value)
        if text is not None:
            return text
    resource = fields.get("text_resource")
    return None if resource is None else text_of(peek(resource, "text"))


def _text_below(layers: list[Mapping[Any, Any]]) -> str | None:
    """The text of what the item holds; where no field is named like it, the only one there is."""
    for layer in layers[1:]:
        text = _text_under(layer)
        if text is None:  # Elasticsearch gives every one of `fields` as a list
            listed = next(_some(layer, CONTENT_KEYS), None)
            text = text_of(listed[0]) if type(listed) is list and len(listed) == 1 else None
        if text is not None:
            return text
    for layer in (*layers[1:], layers[0]):
        text = _text_of_node(layer.get(NODE_KEY)) or _only_text(layer)
        if text is not None:
            return text
    return None


def _text_of_node(written: Any) -> str | None:
    """The text of a node that LlamaIndex wrote into a payload as JSON."""
    written = text_of(written)
    if written is None or len(written) > _MOST_JSON_CHARS:
        return None
    try:
        node = json.loads(written)
    except ValueError:
        return None
    return text_of(node.get("text")) if type(node) is dict else None


def _only_text(fields: Mapping[Any, Any]) -> str | None:
    """The text among fields of unknown names: there is one, or one that is no mere label.

    What holds a list of objects is a reply, and no passage.
    """
    values = islice(fields.values(), _MOST_FIELDS)
    if any(type(value) is list and value and type(value[0]) is dict for value in values):
        return None
    texts = [
        text
        for key, value in islice(fields.items(), _MOST_FIELDS)
        if type(key) is str and key.lower() not in LABEL_KEYS and not key.lower().endswith("id")
        if (text := text_of(value)) is not None and not _NUMBERS.fullmatch(text[:_PROSE_CHARS])
    ]
    if len(texts) > 1:
        texts = [text for text in texts if len(text) >= _PROSE_CHARS]
    return texts[0] if len(texts) == 1 else None


def _text_in(content: Any) -> str | None:
    """A text, or that of parts or an object with a `text`, as Bedrock and OpenAI give it."""
    kind = type(content)
    if kind is str:
        return content  # type: ignore[no-any-return]
    if kind is dict:
        return text_of(content.get("text"))
    if kind is not list:
        return text_of(content)
    texts = [text_of(first(part, _PART_TEXTS)) for part in content[:MAX_PARTS]]
    return "\n".join(text for text in texts if text is not None) or None


def _from_values(row: tuple[Any, ...]) -> Document:
    """A document with its score, or a row whose fields have no names."""
    if is_scored(row):
        content, id_, _, base, metadata = _take_one(row[0], inner=True)
        return content, id_, row[1], base, metadata
    texts = [text_of(value) for value in row]
    prose = [t for t in texts if t is not None and not _NUMBERS.fullmatch(t[:_PROSE_CHARS])]
    content = max(prose, key=len, default=None)
    scores = [value for value in row if type(value) is not int and number_of(value) is not None]
    score = scores[-1] if scores else None
    inner = next((value for value in row if holds_fields(value)), None)
    document = _take_one(inner, inner=True) if inner is not None else None
    if document is not None and document[0] is not None and len(document[0]) > len(content or ""):
        return (*document[:2], score if document[2] is None else document[2], *document[3:])
    if content is None:
        return None, row[0] if row else None, score, None, None
    place = texts.index(content)
    names = (value for value in (*row[:place], *row[place + 1 :]) if _may_name(value))
    return content, next(names, None), score, None, _copy(inner)


def _may_name(value: Any) -> bool:
    return type(value) is int or not (
        value is None or number_of(value) is not None or type(value) in (dict, list)
    )


def _metadata(
    layers: list[Mapping[Any, Any]], bodies: list[Any], content: str | None
) -> dict[Any, Any] | None:
    """The metadata that a layer names so, else what a body holds beside the text."""
    for layer in layers:
        for metadata in _some(layer, METADATA_KEYS):
            copied = _copy(metadata, content)
            if copied is not None:
                return copied
    held = (_copy(body, content) for body in bodies if type(body) is dict and content is not None)
    return next(held, None)


def _with_ages(fields: Mapping[Any, Any], metadata: dict[Any, Any] | None) -> dict[Any, Any]:
    """The metadata with the fields beside the text that tell how new the document is, first."""
    beside = {
        name: cut_value(value)
        for name in AGE_NAMES
        if (value := fields.get(name)) is not None and not callable(value)
    }
    return {**beside, **(metadata or {})}


def _ages_first(metadata: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """The items of many, first those that tell how new the document is: the last are cut."""
    items = dict.items(metadata)
    yield from ((key, value) for key, value in items if type(key) is str and key in _AGES)
    yield from ((key, value) for key, value in items if type(key) is not str or key not in _AGES)


def _copy(metadata: Any, content: str | None = None) -> dict[Any, Any] | None:
    """A shallow copy; where it may hold the text, without that and the vectors."""
    if not issubclass(type(metadata), dict):
        return None
    many = dict.__len__(metadata) > MAX_METADATA
    items = _ages_first(metadata) if many else dict.items(metadata)
    some = islice(items, MAX_METADATA + 1)  # one more shows the sender that it cuts
    if content is None:
        return {key: cut_value(value) for key, value in some}
    return {
        key: cut_value(value)
        for key, value in some
        if not _is_text(value, content) and not (type(key) is str and key in VECTOR_KEYS)
    }


def _is_text(value: Any, content: str) -> bool:
    return value is content or (type(value) is list and len(value) == 1 and value[0] is content)


def cut_value(value: Any) -> Any:
    """`value`, cut if it is a long text: a short label must not keep megabytes alive."""
    if type(value) is str and len(value) > _LONGEST_VALUE:
        return value[:_LONGEST_VALUE]
    return value
