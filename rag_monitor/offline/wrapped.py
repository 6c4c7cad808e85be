"""The rows in one JSON document: a list, an object around one, or columns as data frames write.

What names a row's fields is looked for before what could be a wrapper, so that a row with a list
in it stays one row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_monitor.offline.columns import COLUMN_NAMES, name_of

_DEEPEST: Final = 3
_LISTS: Final = (
    "data", "rows", "records", "examples", "samples", "items", "dataset", "test_cases",
    "testCases", "tests", "goldens", "questions", "results", "instances", "数据", "样本",
)  # fmt: skip
"""Members that hold the rows, or an object that holds them."""
_OF_A_ROW: Final = frozenset({"question", "answer", "contexts", "reference", "trace_id"})
"""Fields of which a row has at least one."""
_SPLIT: Final = frozenset({"columns", "data"})


def rows_in(value: object) -> list[Any]:
    """The rows; a value that wraps none is the only row.

    Args:
        value: A parsed document.
    """
    rows = _wrapped(value, 0)
    return [value] if rows is None else rows


def wraps_rows(value: object) -> bool:
    """Whether an object is no row itself, but holds rows."""
    return _wrapped(value, 0) is not None


def _wrapped(value: object, depth: int) -> list[Any] | None:
    """The rows in a list or a wrapper; None: it is neither."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping) or not value or depth > _DEEPEST:
        return None
    if value.keys() >= _SPLIT:
        rows = _split(value)
        if rows is not None:
            return rows
    named = any(name_of(str(name), COLUMN_NAMES) in _OF_A_ROW for name in value)
    if named:
        return _columns(value)
    for name in _LISTS:
        inner = value.get(name)
        if isinstance(inner, list) and not any(isinstance(item, Mapping) for item in inner):
            continue
        rows = _wrapped(inner, depth + 1)
        if rows is not None:
            return rows
    members = list(value.values())
    if all(isinstance(member, Mapping) and _is_row(member) for member in members):
        return members  # by the names of the rows
    inside = [rows for member in members if (rows := _rows_of(member, depth)) is not None]
    return inside[0] if len(inside) == 1 else None


def _rows_of(member: object, depth: int) -> list[Any] | None:
    """The rows that a member of any name holds; None: it holds nothing that looks like rows."""
    rows = _wrapped(member, depth + 1) if isinstance(member, list | Mapping) else None
    sure = rows and all(isinstance(row, Mapping) and _is_row(row) for row in rows)
    return rows if sure else None


def _is_row(value: Mapping[Any, Any]) -> bool:
    return any(name_of(str(name), COLUMN_NAMES) in _OF_A_ROW for name in value)


def _split(value: Mapping[str, Any]) -> list[Any] | None:
    """Rows beside the names of their columns."""
    names, rows = value["columns"], value["data"]
    if not isinstance(names, list) or not isinstance(rows, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    return [dict(zip(map(str, names), row, strict=True)) for row in rows]


def _columns(value: Mapping[Any, Any]) -> list[Any] | None:
    """One list for each column, or one object from the row's name; None: it is a row."""
    columns = list(value.values())
    if all(isinstance(column, Mapping) and column for column in columns):
        keys = columns[0].keys()
        if not all(column.keys() == keys for column in columns) or _names_fields(keys):
            return None
        return [{name: column[key] for name, column in value.items()} for key in keys]
    if not all(isinstance(column, list) for column in columns) or not _holds_texts(value):
        return None
    if len({len(column) for column in columns}) != 1:
        return None
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def _names_fields(keys: Sequence[Any] | Any) -> bool:
    """Whether these are names of fields, not of rows: `{"inputs": {"question": …}}` is one row."""
    return any(name_of(str(key), COLUMN_NAMES) in _OF_A_ROW for key in keys)


def _holds_texts(value: Mapping[Any, Any]) -> bool:
    """Whether a column of questions or answers has a text for each row: a chat has messages."""
    for name, column in value.items():
        if name_of(str(name), COLUMN_NAMES) in ("question", "answer"):
            return bool(column) and all(item is None or isinstance(item, str) for item in column)
    return False
