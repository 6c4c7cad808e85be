"""Many rows in one statement: inserted, looked up, changed; and the different values of a column.

Of inserted ones those that are there already are refused, left alone, or replaced; the others are
chosen by the traces they hang on.

Both databases get SQL text whose shape repeats, past the compiler of SQLAlchemy and the parsers of
the drivers: those were two fifths of what a commit cost. PostgreSQL takes one array per column.
SQLite has no arrays; it takes the rows in packs of a power of two, so that the few statements there
are stay prepared, and keys that are looked up as one text of JSON.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import orjson
from sqlalchemy import (
    CTE,
    Boolean,
    Column,
    Connection,
    Date,
    Dialect,
    Float,
    Table,
    func,
    select,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import ARRAY

from rag_monitor.store.types import Bulk, Moment

_LARGEST_PACK: Final = 128
"""Rows; times a few dozen columns below the 32,766 parameters SQLite takes."""
LOOKUP: Final = 500
"""Keys per SELECT."""
Key = tuple[str, str]
"""Project and trace id."""
Columns = Mapping[str, Sequence[Any]]
"""Rows of a table by column: all of them equally long, the same place in each is one row."""


def chunks(keys: Iterable[Key], size: int = LOOKUP) -> Iterable[tuple[str, list[str]]]:
    """Keys by project, at most `size` trace ids at a time, in one fixed order."""
    by_project: dict[str, set[str]] = defaultdict(set)
    for project, trace_id in keys:
        by_project[project].add(trace_id)
    for project in sorted(by_project):
        ordered = sorted(by_project[project])
        for start in range(0, len(ordered), size):
            yield project, ordered[start : start + size]


def insert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert `rows`, which all have the same columns and none of which is there."""
    if rows:
        _insert(connection, table, _columns_of(rows), "")


def insert_columns(connection: Connection, table: Table, columns: Columns) -> None:
    """Insert rows none of which is there, given column by column."""
    if any(columns.values()):
        _insert(connection, table, columns, "")


def insert_new(
    connection: Connection,
    table: Table,
    rows: Sequence[dict[str, Any]],
    returning: Sequence[Column[Any]],
) -> list[tuple[Any, ...]]:
    """Insert `rows`, which all have the same columns; gives back `returning` of the new ones."""
    if not rows:
        return []
    names = ", ".join(column.name for column in returning)
    ending = f"ON CONFLICT DO NOTHING RETURNING {names}"
    inserted = _insert(connection, table, _columns_of(rows), ending)
    return list(zip(*_loaded(returning, connection.dialect, inserted), strict=True))


def upsert(
    connection: Connection,
    table: Table,
    rows: Sequence[dict[str, Any]],
    changed: Sequence[str] = (),
    *,
    newer: str | None = None,
    add: bool = False,
) -> None:
    """Insert `rows`, which all have the same columns; they replace those of the same primary key.

    No key may come twice.

    Args:
        connection: A writing one.
        table: Where to.
        rows: By column name.
        changed: What is replaced in a row that is there; empty: all of it.
        newer: A column: rows in which it is not smaller than the given one stay as they are.
        add: Numbers are added to those that are there, and do not replace them.
    """
    if not rows:
        return
    there = f"{table.name}.{{0}} + " if add else ""
    keys = [column.name for column in table.primary_key.columns]
    names = changed or [name for name in rows[0] if name not in keys]
    ending = f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET " + ", ".join(
        f"{name} = {there.format(name)}excluded.{name}" for name in names
    )
    if newer is not None:
        ending += f" WHERE {table.name}.{newer} < excluded.{newer}"
    _insert(connection, table, _columns_of(rows), ending)


def _columns_of(rows: Sequence[dict[str, Any]]) -> Columns:
    return {name: [row[name] for row in rows] for name in rows[0]}


def rows_of(
    connection: Connection,
    columns: Sequence[Column[Any]],
    project: str,
    trace_ids: Sequence[str],
    days: Iterable[date] | None = None,
    *,
    order: str,
    lock: bool = False,
) -> list[tuple[Any, ...]]:
    """Columns of the rows of one table that hang on these traces of a project.

    Args:
        connection: A writing one, if they are to be locked.
        columns: All of the same table.
        project: Tenant.
        trace_ids: Which traces.
        days: Their days, for tables that are split by them.
        order: Columns to order by.
        lock: Hold them until the end of the transaction.
    """
    table, dialect = columns[0].table, connection.dialect
    given: dict[str, Any] = {"project": project, "trace_ids": _list(trace_ids, dialect)}
    where = f"project = {_value('project', dialect)} AND {_among('trace_id', 'trace_ids', dialect)}"
    if days is not None:
        given["days"] = _list(_bound(table.c.day, dialect, sorted(days)), dialect)
        where += f" AND {_among('day', 'days', dialect)}"
    names = ", ".join(column.name for column in columns)
    sql = f"SELECT {names} FROM {table.name} WHERE {where} ORDER BY {order}"  # noqa: S608
    if lock and dialect.name == "postgresql":
        sql += " FOR UPDATE"
    selected = connection.exec_driver_sql(sql, given).all()
    return list(zip(*_loaded(columns, dialect, selected), strict=True))


def change(
    connection: Connection,
    table: Table,
    project: str,
    trace_ids: Sequence[str],
    values: Mapping[str, Any],
) -> None:
    """Set columns of the rows that hang on these traces of a project, all to the same values."""
    dialect = connection.dialect
    given: dict[str, Any] = {"project": project, "trace_ids": _list(trace_ids, dialect)}
    for name, value in values.items():
        given[name] = None if value is None else _bound(table.c[name], dialect, [value])[0]
    changes = ", ".join(f"{name} = {_value(name, dialect)}" for name in values)
    sql = (
        f"UPDATE {table.name} SET {changes} WHERE project = {_value('project', dialect)} "  # noqa: S608
        f"AND {_among('trace_id', 'trace_ids', dialect)}"
    )
    connection.exec_driver_sql(sql, given)


def _value(name: str, dialect: Dialect) -> str:
    return f"%({name})s" if dialect.name == "postgresql" else f":{name}"


def _among(column: str, name: str, dialect: Dialect) -> str:
    """Whether a column is one of a list of values."""
    if dialect.name == "postgresql":
        return f"{column} = ANY(%({name})s)"
    return f"{column} IN (SELECT value FROM json_each(:{name}))"  # noqa: S608


def _list(values: Sequence[Any], dialect: Dialect) -> Any:
    return list(values) if dialect.name == "postgresql" else orjson.dumps(values).decode()


def _insert(
    connection: Connection, table: Table, columns: Columns, ending: str
) -> list[Sequence[Any]]:
    """Run the INSERT with its `ending`; gives back what that returns, as the driver has it."""
    names = tuple(columns)
    dialect = connection.dialect
    values = [_bound(table.c[name], dialect, column) for name, column in columns.items()]
    returned: list[Sequence[Any]] = []
    if dialect.name == "postgresql":
        arrays = dict(zip(names, map(list, values), strict=True))  # a tuple would be one value
        result = connection.exec_driver_sql(_from_arrays(table, names, ending), arrays)
        return list(result) if result.returns_rows else returned
    for pack in _packs(list(zip(*values, strict=True))):
        sql = _from_rows(table, names, ending, len(pack))
        result = connection.exec_driver_sql(sql, tuple(chain.from_iterable(pack)))
        if result.returns_rows:
            returned += result
    return returned


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
    types = {name: table.c[name].type.compile(dialect) for name in names}
    # unnest() opens arrays within arrays, too: those travel as text.
    arrays = ", ".join(
        f"%({name})b::{'text' if kind.endswith(']') else kind}[]" for name, kind in types.items()
    )
    chosen = ", ".join(
        f"given.{name}::{kind}" if kind.endswith("]") else f"given.{name}"
        for name, kind in types.items()
    )
    into = ", ".join(names)
    return (
        f"INSERT INTO {table.name} ({into}) "  # noqa: S608
        f"SELECT {chosen} FROM unnest({arrays}) AS given ({into}) {ending}"
    )


@lru_cache(64)
def _from_rows(table: Table, names: tuple[str, ...], ending: str, count: int) -> str:
    row = f"({', '.join('?' * len(names))})"
    rows = ", ".join([row] * count)
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {rows} {ending}"  # noqa: S608


def _bound(column: Column[Any], dialect: Dialect, values: Sequence[Any]) -> Sequence[Any]:
    """The values as the driver takes them."""
    if isinstance(column.type, Bulk):
        return column.type.bound(values, dialect)
    if isinstance(column.type, Float):  # an array has one type: no 1 beside 0.5
        return [None if value is None else float(value) for value in values]
    if isinstance(column.type, ARRAY) and dialect.name == "postgresql":
        return [None if value is None else f"{{{','.join(map(str, value))}}}" for value in values]
    return _converted(column, column.type.dialect_impl(dialect).bind_processor(dialect), values)


def _loaded(
    columns: Sequence[Column[Any]], dialect: Dialect, rows: Sequence[Sequence[Any]]
) -> list[Sequence[Any]]:
    """The columns of driver rows as Python values."""
    loaded = []
    for position, column in enumerate(columns):
        process = column.type.dialect_impl(dialect).result_processor(dialect, None)
        loaded.append(_converted(column, process, [row[position] for row in rows]))
    return loaded


_FEW: Final = (Boolean, Date, Moment)
"""Types whose values come again and again in a column, and are alike where they are equal."""


def _converted(
    column: Column[Any], process: Callable[[Any], Any] | None, values: Sequence[Any]
) -> Sequence[Any]:
    """Every value through `process`, those of a day, a flag or a moment once each."""
    if process is None:
        return values
    if not isinstance(column.type, _FEW):
        return [process(value) for value in values]
    converted = {value: process(value) for value in set(values)}
    return [converted[value] for value in values]


def skip_scan(column: Any, *conditions: Any) -> CTE:
    """The values of a column as `value`, one look into the index per value; the last row is NULL.

    SELECT DISTINCT would read an index entry per trace; this reads one per value, in one statement.
    """
    least = (
        select(func.min(column).label("value")).where(*conditions).cte("skip_scan", recursive=True)
    )
    beyond = select(func.min(column)).where(*conditions, column > least.c.value).scalar_subquery()
    return least.union_all(select(beyond).where(least.c.value.is_not(None)))


def distinct_values(connection: Connection, column: Any, *conditions: Any) -> list[str]:
    """The values of a column, in order."""
    values = skip_scan(column, *conditions)
    statement = select(values.c.value).where(values.c.value.is_not(None))
    return sorted(connection.execute(statement).scalars())
