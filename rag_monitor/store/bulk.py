"""Many rows in one INSERT, those that are there already left alone.

PostgreSQL gets one array per column instead of thousands of placeholders, which its driver would
parse anew for every commit; that parsing was two fifths of what a commit cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, Connection, Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_new(
    connection: Connection,
    table: Table,
    rows: Sequence[dict[str, Any]],
    returning: Sequence[Column[Any]],
) -> list[tuple[Any, ...]]:
    """Insert `rows`, which all have the same columns; gives back `returning` of the new ones."""
    if not rows:
        return []
    if connection.dialect.name != "postgresql":
        statement = sqlite.insert(table).on_conflict_do_nothing().returning(*returning)
        return [tuple(row) for row in connection.execute(statement, list(rows))]
    names = tuple(rows[0])
    sql = _statement(table, names, tuple(column.name for column in returning))
    values = {
        name: _column(table.c[name], connection.dialect, [row[name] for row in rows])
        for name in names
    }
    return [tuple(row) for row in connection.exec_driver_sql(sql, values)]


@lru_cache(16)
def _statement(table: Table, names: tuple[str, ...], returning: tuple[str, ...]) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    arrays = ", ".join(f"%({name})b::{table.c[name].type.compile(dialect)}[]" for name in names)
    return (  # names are our tables' own, values are bound
        f"INSERT INTO {table.name} ({', '.join(names)}) SELECT * FROM unnest({arrays}) "  # noqa: S608
        f"ON CONFLICT DO NOTHING RETURNING {', '.join(returning)}"
    )


def _column(column: Column[Any], dialect: Dialect, values: list[Any]) -> list[Any]:
    process = column.type.dialect_impl(dialect).bind_processor(dialect)
    return values if process is None else [process(value) for value in values]
