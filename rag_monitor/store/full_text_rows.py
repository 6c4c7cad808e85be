"""Rows of the full-text indexes of SQLite, which stand for arrays with an index on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, text

NOTHING: Final = 0
"""In place of a row: there is nothing to index; rows count from 1."""


def place_all(
    connection: Connection, table: str, column: str, tokens: Sequence[Sequence[str]]
) -> list[int]:
    """Write a row for the tokens of each trace that has any; returns the number of each row.

    Args:
        connection: A writing one, of SQLite.
        table: Name of the index; not bound.
        column: Of its text; not bound.
        tokens: Of each trace.
    """
    newest = f"SELECT rowid FROM {table} ORDER BY rowid DESC LIMIT 1"  # noqa: S608 - our names
    last = connection.execute(text(newest)).scalar() or 0
    places: list[int] = []
    entries = []
    for words in tokens:
        if not words:
            places.append(NOTHING)
            continue
        last += 1
        places.append(last)
        entries.append((last, " ".join(words)))
    if entries:  # past the compiler of SQLAlchemy, as all that is written in bulk
        connection.exec_driver_sql(
            f"INSERT INTO {table} (rowid, {column}) VALUES (?, ?)",  # noqa: S608 - our names
            entries,
        )
    return places
