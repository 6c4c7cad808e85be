"""Where a retriever's result holds its documents: a list, a reply around one, or columns."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any, Final

from rag_monitor.sdk.field_names import (
    ANSWER_KEYS,
    BODY_KEYS,
    COLUMN_KEYS,
    CONTENT_KEYS,
    LIST_KEYS,
    MAP_KEYS,
    WHOLE_KEYS,
)
from rag_monitor.sdk.peek import every, first, holds_fields, number_of, text_of
from rag_monitor.sdk.tables import TABLES, class_of, row_of

MAX_DOCUMENTS: Final = 100
_MOST_VALUES: Final = 20
_DEEPEST: Final = 4
_VIEWS: Final = frozenset({type({}.values()), type({}.keys()), set, frozenset, deque})

Documents = tuple[int, list[Any]]
"""How many documents there are, and the first hundred of them."""


def documents_in(value: Any, depth: int = 0) -> Documents | None:
    """The documents of a result; None where it holds none, or is a document itself."""
    kind = type(value)
    if depth > _DEEPEST or text_of(value) is not None:
        return None
    if issubclass(kind, list):
        return _flat(*_items(value), depth)
    if issubclass(kind, tuple):
        return _in_tuple(value, depth)
    if kind in _VIEWS:
        return len(value), list(islice(value, MAX_DOCUMENTS))
    table = TABLES.get(class_of(value))
    if table is not None:
        return table(value, MAX_DOCUMENTS)
    return _in_reply(value, depth) if holds_fields(value) else None


def _items(value: Any) -> Documents:
    if class_of(value)[0] == "pymilvus":  # it fills in what is not indexed when it is read
        return len(value), list(islice(value, MAX_DOCUMENTS))
    return list.__len__(value), list.__getitem__(value, slice(MAX_DOCUMENTS))


def _flat(size: int, items: list[Any], depth: int) -> Documents:
    """The documents of a list, and those of lists inside it: one for each query."""
    if not any(issubclass(type(item), list | tuple) for item in items):
        return size, items
    flat: list[Any] = []
    for item in items:
        inner = None
        if issubclass(type(item), list | tuple) and row_of(item) is None:
            inner = documents_in(item, depth + 1)
        if inner is None:
            flat.append(item)
        else:
            flat += inner[1]
            size += inner[0] - 1
    return size, flat[:MAX_DOCUMENTS]


def _in_tuple(value: Any, depth: int) -> Documents | None:
    """Documents, or a list with its scores or with something else beside it.

    None for a tuple that is one document: with its score, or a row.
    """
    size, items = tuple.__len__(value), list(tuple.__getitem__(value, slice(MAX_DOCUMENTS)))
    if any(_is_number(item) for item in items) and row_of(value) is not None:
        return None
    if size != 2:
        return _flat(size, items, depth)
    lists = [inner for item in items if (inner := _list_in(item, depth)) is not None]
    if len(lists) == 1:  # (records, offset), (documents, total)
        return lists[0]
    numbers = [one for one in lists if one[1] and all(_is_number(n) for n in one[1])]
    if len(numbers) != 1:
        return _flat(size, items, depth)
    ((count, documents),) = (one for one in lists if one is not numbers[0])
    return count, list(zip(documents, numbers[0][1], strict=False))


def _list_in(item: Any, depth: int) -> Documents | None:
    return documents_in(item, depth + 1) if not issubclass(type(item), dict) else None


def _is_number(value: Any) -> bool:
    return number_of(value) is not None


def _in_reply(value: Any, depth: int) -> Documents | None:
    """The list in a reply: in columns side by side, under a known name, or below another one."""
    rows = _columns(value)
    if rows is not None:
        return len(rows), rows[:MAX_DOCUMENTS]
    if any(text_of(text) is not None for text in every(value, CONTENT_KEYS)):
        return None  # a document, whatever else it holds
    empty = None
    for inner in every(value, LIST_KEYS):
        documents = documents_in(inner, depth + 1)
        if documents is not None and documents[0]:
            return documents
        empty = empty or documents
    for inner in every(value, MAP_KEYS):
        if type(inner) is dict:
            return len(inner), list(islice(inner.values(), MAX_DOCUMENTS))
    if empty is not None or type(value) is not dict or _holds_document(value):
        return empty
    return _below(value, depth)


def _below(value: dict[Any, Any], depth: int) -> Documents | None:
    """The documents under fields of other names, such as classes and fields of a schema."""
    if depth > _DEEPEST:
        return None
    size, below = 0, []
    for inner in islice(value.values(), _MOST_VALUES):
        documents = _in_reply(inner, depth + 1) if type(inner) is dict else _listed(inner)
        if documents is not None:
            size += documents[0]
            below += documents[1]
    return (size, below[:MAX_DOCUMENTS]) if below else None


def _listed(value: Any) -> Documents | None:
    """A list, where its items are documents by the names of their fields."""
    if type(value) is not list or not value:
        return None
    size, items = _items(value)
    return (size, items) if all(map(_is_document, items)) else None


def _is_document(item: Any) -> bool:
    names = (*CONTENT_KEYS, *WHOLE_KEYS, *ANSWER_KEYS)
    if type(item) is not dict:
        return False
    if any(text_of(text) is not None for text in every(item, names)):
        return True
    return any(_is_document(body) for body in every(item, BODY_KEYS))


def _holds_document(value: dict[Any, Any]) -> bool:
    """Whether it is a document whose fields are below it, not a reply around a list."""
    bodies = [body for body in every(value, BODY_KEYS) if holds_fields(body)]
    return any(_is_document(body) or type(body) is not dict for body in bodies)


def _columns(value: Any) -> list[Any] | None:
    """One dict for each document of lists side by side, as Chroma gives them for each query."""
    columns: dict[str, list[Any]] = {}
    for role, names in COLUMN_KEYS:
        column = first(value, names)
        if type(column) is list and column:
            columns[role] = _joined(column)
    if len(columns) < 2 or len({len(column) for column in columns.values()}) != 1:
        return None
    if not {"content", "id"} & set(columns):
        return None
    content = columns.get("content", [None])
    if not all(one is None or text_of(one) is not None for one in content):
        columns["document"] = columns.pop("content")
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in islice(rows, MAX_DOCUMENTS)]


def _joined(column: list[Any]) -> list[Any]:
    if type(column[0]) is not list:
        return column
    return [item for part in column if type(part) is list for item in part]
