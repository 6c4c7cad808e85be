"""Tables and rows of libraries that keep their values out of sight.

Classes are recognised by their names, and no library is imported. Only methods that read memory
are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rag_monitor.sdk.field_names import ID_KEYS, VECTOR_KEYS
from rag_monitor.sdk.peek import fields_of, holds_fields, number_of, text_of

_MOST_COLUMNS: Final = 20
_MOST_VALUES: Final = 50
_TEXTS: Final = ("U", "S", "O", "T")
"""Kinds of NumPy's arrays that may hold texts."""

Rows = tuple[int, list[Any]]
"""How many rows there are, and the first of them."""


def class_of(value: Any) -> tuple[str, str]:
    """The package and the name of the value's class."""
    kind = type(value)
    module, name = (
        type.__dict__["__module__"].__get__(kind),
        type.__dict__["__name__"].__get__(kind),
    )
    return (module.partition(".")[0], name) if type(module) is str else ("", name)


def _pandas(frame: Any, most: int) -> Rows:
    head = frame.iloc[:most]
    columns = {
        name: head.iloc[:, place].tolist()
        for place, name in enumerate(list(head.columns[:_MOST_COLUMNS]))
        if name not in VECTOR_KEYS
    }
    if not columns.keys() & set(ID_KEYS) and head.index.dtype.kind in _TEXTS:
        columns["id"] = head.index.tolist()
    return len(frame), _rows(columns)


def _rows(columns: dict[Any, list[Any]]) -> list[Any]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _polars(frame: Any, most: int) -> Rows:
    return len(frame), frame.head(most).select(_readable(frame.columns)).to_dicts()


def _arrow(table: Any, most: int) -> Rows:
    head = table.slice(0, most).select(_readable(table.schema.names))
    return len(table), head.to_pylist()


def _readable(names: list[str]) -> list[str]:
    return [name for name in names if name not in VECTOR_KEYS][:_MOST_COLUMNS]


def _dataset(table: Any, most: int) -> Rows:
    return len(table), _rows(table[:most])


def _numpy(array: Any, most: int) -> Rows | None:
    head = array.ravel()[:most]
    if head.dtype.names:
        return array.size, [dict(zip(head.dtype.names, row, strict=True)) for row in head.tolist()]
    return (array.size, head.tolist()) if head.dtype.kind in _TEXTS else None


def _series(values: Any, most: int) -> Rows:
    return len(values), values[:most].to_list()


def _array(values: Any, most: int) -> Rows:
    return len(values), values[:most].to_pylist()


TABLES: Final[dict[tuple[str, str], Callable[[Any, int], Rows | None]]] = {
    ("pandas", "DataFrame"): _pandas,
    ("pandas", "Series"): _series,
    ("pandas", "Index"): _series,
    ("polars", "DataFrame"): _polars,
    ("polars", "Series"): _series,
    ("pyarrow", "Table"): _arrow,
    ("pyarrow", "RecordBatch"): _arrow,
    ("pyarrow", "ChunkedArray"): _array,
    ("pyarrow", "StringArray"): _array,
    ("numpy", "ndarray"): _numpy,
    ("numpy", "recarray"): _numpy,
    ("datasets", "Dataset"): _dataset,
}
"""Readers of tables and columns, given how many rows to read at most."""


def _sqlalchemy(row: Any) -> dict[str, Any]:
    fields = dict(zip(row._fields, tuple(row), strict=True))
    return _with_entity(fields)


def _with_entity(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields; an object among them whose text they lack is the document."""
    if not any(text_of(value) is not None for value in fields.values()):
        entity = next((value for value in fields.values() if holds_fields(value)), None)
        fields.setdefault("document", entity)
    return fields


_ROWS: Final[dict[tuple[str, str], Callable[[Any], dict[str, Any]]]] = {
    ("sqlite3", "Row"): lambda row: dict(zip(row.keys(), tuple(row), strict=True)),
    ("asyncpg", "Record"): lambda row: _with_entity(dict(row.items())),
    ("sqlalchemy", "Row"): _sqlalchemy,
    ("sqlalchemy", "RowMapping"): lambda row: _with_entity(dict(row)),
    ("neo4j", "Record"): lambda row: _with_entity(dict(row.items())),
}


def row_of(item: Any) -> dict[str, Any] | tuple[Any, ...] | None:
    """A row of a database: its fields by name, or its values; None where it is no row.

    A document with its score is one, too.
    """
    read = _ROWS.get(class_of(item))
    if read is not None:
        return read(item)
    kind = type(item)
    if issubclass(kind, tuple):
        values = tuple.__getitem__(item, slice(_MOST_VALUES))
        names = fields_of(kind)
        if names is not None:
            return _with_entity(dict(zip(names, values, strict=False)))
        return None if any(issubclass(type(value), list | tuple) for value in values) else values
    if issubclass(kind, list):
        values = tuple(list.__getitem__(item, slice(_MOST_VALUES)))
        texts = any(text_of(value) is not None for value in values)
        return values if texts and any(number_of(value) is not None for value in values) else None
    return None


def is_scored(row: tuple[Any, ...]) -> bool:
    """Whether it is a document and its score."""
    return len(row) == 2 and number_of(row[1]) is not None
