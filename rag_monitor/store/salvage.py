"""What is still readable of a damaged SQLite file, copied row by row into a new one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.store import migration
from rag_monitor.store.lockfile import FileLock
from rag_monitor.store.schema import metadata

_ROWS: Final = 500
"""Rows read at once; where that fails, one by one."""
_ASSEMBLE_AGAIN: Final = (
    "UPDATE trace_keys SET due_at = first_received, claimed_until = NULL "
    "WHERE due_at IS NULL AND EXISTS (SELECT 1 FROM spans s WHERE s.project = trace_keys.project "
    "AND s.trace_id = trace_keys.trace_id) AND NOT EXISTS (SELECT 1 FROM traces t "
    "WHERE t.project = trace_keys.project AND t.trace_id = trace_keys.trace_id)"
)
"""Traces that are lost while what they were made of is not."""
_INDEX_AGAIN: Final = {
    "search": "UPDATE traces SET search = NULL WHERE search IS NOT NULL",
    "terms": "UPDATE traces SET terms = NULL WHERE terms IS NOT NULL",
}
"""By column: indexes for searching are no tables of rows: the monitor makes them anew while it
runs."""
_LAST: Final = 2**63 - 1
"""The largest rowid there can be."""

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """What became of one table."""

    table: str
    copied: int
    lost: int | None
    """Rows that the table's indexes name and that were not copied; None: the indexes are damaged,
    too, so nobody can say."""


def salvage(source: Path, target: Path) -> list[Salvaged]:
    """Copy all readable rows of `source` into the new file `target`, table by table.

    `source` is only read. `target` gets its schema, or this release's where it cannot be told.

    Raises:
        ConfigurationError: There is no such source, a monitor uses it, the target is there already,
            or nothing at all can be read.
        SchemaMismatch: A newer release wrote the source.
    """
    if not source.is_file():
        raise ConfigurationError("there is no file {path}", path=source)
    if target.exists():
        raise ConfigurationError("{target} is there already; name a new file", target=target)
    lock = FileLock(source)
    try:
        with contextlib.closing(_opened(source)) as old:
            tables = _tables(old, source)
            if not {"spans", "traces"} & set(tables):
                raise ConfigurationError("{path} is no database of rag-monitor", path=source)
            migration.upgrade(f"sqlite:///{target}", _revision(old))
            with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as new:
                # The file is worth nothing before it is complete.
                new.execute("PRAGMA synchronous=OFF")
                saved = [
                    _copied(old, new, name)
                    for name in _tables(new, target)
                    if name in tables and name in metadata.tables
                ]
                new.execute(_ASSEMBLE_AGAIN)
                for column in _INDEX_AGAIN.keys() & set(_columns(new, "traces")):
                    new.execute(_INDEX_AGAIN[column])
                return saved
    finally:
        lock.release()


def _opened(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _tables(connection: sqlite3.Connection, path: Path) -> list[str]:
    statement = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    try:
        return [name for (name,) in connection.execute(statement)]
    except sqlite3.DatabaseError as error:
        raise ConfigurationError(
            "nothing of {path} can be read ({reason}); restore a backup", path=path, reason=error
        ) from None


def _revision(connection: sqlite3.Connection) -> str:
    with contextlib.suppress(sqlite3.DatabaseError):
        statement = f"SELECT version_num FROM {migration.VERSION_TABLE}"  # noqa: S608 - our constant
        for (revision,) in connection.execute(statement):
            migration.refuse_unknown(revision)
            return str(revision)
    return "head"


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def _copied(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> Salvaged:
    theirs = _columns(old, table)
    columns = [name for name in _columns(new, table) if name in theirs]
    named = ", ".join(f'"{name}"' for name in columns)
    places = ", ".join("?" * len(columns))
    # Names come from our own schema. A row twice, by a damaged index, is the same row.
    insert = f'INSERT OR IGNORE INTO "{table}" ({named}) VALUES ({places})'  # noqa: S608
    copied = 0
    new.execute("BEGIN")
    new.execute(f'DELETE FROM "{table}"')  # noqa: S608 - what a migration put there
    for rows in _readable(old, table, named):
        copied += new.executemany(insert, rows).rowcount
    new.execute("COMMIT")
    expected = _expected(old, table)
    return Salvaged(
        table=table, copied=copied, lost=None if expected is None else max(0, expected - copied)
    )


def _expected(connection: sqlite3.Connection, table: str) -> int | None:
    """How many rows there were, counted in the smallest index, as SQLite does by itself."""
    try:
        ((count,),) = connection.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608
    except sqlite3.DatabaseError:
        return None
    return int(count)


def _readable(connection: sqlite3.Connection, table: str, named: str) -> Iterator[Sequence[Row]]:
    """Rows in the order of their rowids, stepping over those that cannot be read."""
    at, size = -_LAST, _ROWS
    while at < _LAST:
        statement = (
            f'SELECT rowid, {named} FROM "{table}" WHERE rowid > ? '  # noqa: S608
            "ORDER BY rowid LIMIT ?"
        )
        try:
            rows = connection.execute(statement, (at, size)).fetchall()
        except sqlite3.DatabaseError:
            if size > 1:
                size = 1  # up to the damage row by row
            else:
                at = _behind_damage(connection, table, at)
                size = _ROWS
            continue
        if not rows:
            return
        at = rows[-1][0]
        yield [row[1:] for row in rows]


def _behind_damage(connection: sqlite3.Connection, table: str, at: int) -> int:
    """A rowid behind `at` and behind the damage that follows it, as near to it as can be found."""
    damaged_row = _next(connection, table, at)
    if damaged_row is not None:
        return damaged_row  # it is there, and what it holds is not
    start = max(at, 0)
    low, step = start, 1
    while start + step < _LAST and _next(connection, table, start + step) is None:
        low, step = start + step, step * 2
    high = min(start + step, _LAST)
    while high - low > 1 and high < _LAST:
        middle = (low + high) // 2
        if _next(connection, table, middle) is None:
            low = middle
        else:
            high = middle
    return high


def _next(connection: sqlite3.Connection, table: str, at: int) -> int | None:
    """The first rowid above `at`; the end when there is none; None when a damaged page is there."""
    statement = f'SELECT rowid FROM "{table}" WHERE rowid > ? ORDER BY rowid LIMIT 1'  # noqa: S608
    try:
        row = connection.execute(statement, (at,)).fetchone()
    except sqlite3.DatabaseError:
        return None
    return _LAST if row is None else int(row[0])
