"""Many rows in one INSERT: those that are there already left alone, or replaced.

Both databases get SQL text whose shape repeats, past the compiler of SQLAlchemy and the parsers of
the drivers: those were two fifths of what a commit cost. PostgreSQL takes one array per column.
SQLite has no arrays; it takes the rows in packs of a power of two, so that the few statements there
are stay prepared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from sqlalchemy import Column, Connection, Dialect, Float, Table
from sqlalchemy.dialects import postgresql

_LARGEST_PACK: Final = 128
"""Rows; times a few dozen columns below the 32,766 parameters SQLite takes."""


def insert_new(
    connection: Connection,
    table: Table,
    rows: Sequence[dict[str, Any]],
    returning: Sequence[Column[Any]],
) -> list[tuple[Any, ...]]:
    """Insert `rows`, which all have the same columns; gives back `returning` of the new ones."""
    if not rows:
        return []
    wanted = ", ".join(column.name for column in returning)
    found = _insert(connection, table, rows, f"ON CONFLICT DO NOTHING RETURNING {wanted}")
    return list(zip(*_loaded(returning, connection.dialect, found), strict=True))


def upsert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert `rows`, which all have the same columns; they replace those of the same primary key.

    No key may come twice.
    """
    if not rows:
        return
    keys = [column.name for column in table.primary_key.columns]
    changed = ", ".join(f"{name} = excluded.{name}" for name in rows[0] if name not in keys)
    _insert(connection, table, rows, f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changed}")


def _insert(
    connection: Connection, table: Table, rows: Sequence[dict[str, Any]], ending: str
) -> list[Sequence[Any]]:
    """Run the INSERT with its `ending`; gives back what that returns, as the driver has it."""
    names = tuple(rows[0])
    dialect = connection.dialect
    values = [_bound(table.c[name], dialect, [row[name] for row in rows]) for name in names]
    found: list[Sequence[Any]] = []
    if dialect.name == "postgresql":
        arrays = dict(zip(names, values, strict=True))
        result = connection.exec_driver_sql(_from_arrays(table, names, ending), arrays)
        return list(result) if result.returns_rows else found
    for pack in _packs(list(zip(*values, strict=True))):
        sql = _from_rows(table, names, ending, len(pack))
        result = connection.exec_driver_sql(sql, tuple(chain.from_iterable(pack)))
        if result.returns_rows:
            found += result
    return found


def _packs(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """The rows in order, in the largest powers of two that fit."""
    start = 0
    while left := len(rows) - start:
        size = min(_LARGEST_PACK, 1 << (left.bit_length() - 1))
        yield rows[start : start + size]
        start += size


# Names in the statements are our tables' own; values are bound.


@lru_cache(32)
def _from_arrays(table: Table, names: tuple[str, ...], ending: str) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    arrays = ", ".join(f"%({name})b::{table.c[name].type.compile(dialect)}[]" for name in names)
    return f"INSERT INTO {table.name} ({', '.join(names)}) SELECT * FROM unnest({arrays}) {ending}"  # noqa: S608


@lru_cache(64)
def _from_rows(table: Table, names: tuple[str, ...], ending: str, count: int) -> str:
    row = f"({', '.join('?' * len(names))})"
    rows = ", ".join([row] * count)
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {rows} {ending}"  # noqa: S608


def _bound(column: Column[Any], dialect: Dialect, values: list[Any]) -> list[Any]:
    """The values as the driver takes them."""
    if isinstance(column.type, Float):  # an array has one type: no 1 beside 0.5
        return [None if value is None else float(value) for value in values]
    return _converted(column.type.dialect_impl(dialect).bind_processor(dialect), values)


def _loaded(
    columns: Sequence[Column[Any]], dialect: Dialect, rows: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    """The columns of driver rows as Python values."""
    loaded = []
    for position, column in enumerate(columns):
        process = column.type.dialect_impl(dialect).result_processor(dialect, None)
        loaded.append(_converted(process, [row[position] for row in rows]))
    return loaded


def _converted(process: Callable[[Any], Any] | None, values: list[Any]) -> list[Any]:
    """Every value through `process`; runs of the same object, such as a day, only once."""
    if process is None:
        return values
    converted = []
    last = result = None
    for number, value in enumerate(values):
        if number == 0 or value is not last:
            last, result = value, process(value)
        converted.append(result)
    return converted
