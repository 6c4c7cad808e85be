"""Throw-away PostgreSQL databases: made anew, or emptied and used again."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine

from rag_monitor.store import partitions
from rag_monitor.store.engine import parse_url
from rag_monitor.testing import EPOCH

if TYPE_CHECKING:
    from psycopg import Connection

SERVER = os.environ.get("RAG_MONITOR_TEST_POSTGRESQL", "postgresql://127.0.0.1:5432/postgres")
"""A database from which others can be made."""
_DAYS = 2
"""For so many days from `testing.EPOCH` a reused database has partitions.

A store that opens at that time makes them if they are missing, which takes longer than most tests.
"""
_PARTITION = r"_p\d{8}$"
_SHAPE = """
SELECT string_agg(line, E'\n' ORDER BY line) FROM (
  SELECT concat_ws(' ', 'revision', version_num) AS line FROM alembic_version
  UNION ALL
  SELECT concat_ws(' ', 'relation', relname, relkind, relnatts, relacl, reloptions)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace
  UNION ALL
  SELECT concat_ws(' ', 'column', attrelid::regclass, attname, atttypid, attnotnull, attidentity)
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace AND attnum > 0
  UNION ALL
  SELECT concat_ws(' ', 'default', adrelid::regclass, adnum, pg_get_expr(adbin, adrelid))
    FROM pg_attrdef JOIN pg_class c ON c.oid = adrelid
    WHERE relnamespace = 'public'::regnamespace
  UNION ALL
  SELECT concat_ws(' ', 'index', indexrelid::regclass, indrelid::regclass, indisvalid, indkey)
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid
    WHERE relnamespace = 'public'::regnamespace
  UNION ALL
  SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, contype, conkey)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL
  SELECT concat_ws(' ', 'trigger', tgrelid::regclass, tgname) FROM pg_trigger
  UNION ALL
  SELECT concat_ws(' ', 'function', proname) FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
  UNION ALL
  SELECT concat_ws(' ', 'schema', nspname) FROM pg_namespace
    WHERE nspname !~ '^pg_(toast_)?temp_'
  UNION ALL
  SELECT concat_ws(' ', 'setting', setconfig) FROM pg_db_role_setting
    WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
  UNION ALL
  SELECT concat_ws(' ', 'statistics', starelid::regclass) FROM pg_statistic
    JOIN pg_class c ON c.oid = starelid WHERE relnamespace = 'public'::regnamespace
) AS lines
"""


def connect(url: str = SERVER) -> Connection[Any]:
    """A connection to the server; skips the test where none answers."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    users = {"user": None} if "@" in url else {"user": os.environ.get("PGUSER", "root")}
    options = {name: value for name, value in users.items() if value}
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=3, **options)
    except psycopg.Error as error:
        pytest.skip(f"no PostgreSQL at {SERVER} (set RAG_MONITOR_TEST_POSTGRESQL): {error}")


@contextmanager
def database(template: str | None = None) -> Iterator[str]:
    """The URL of a new PostgreSQL database, dropped at the end."""
    url = _create(template)
    try:
        yield url
    finally:
        _drop(url)


class ReusedDatabases:
    """Migrated, empty databases with the partitions of the first days after `testing.EPOCH`.

    To make one and to drop it take a second. What a test leaves is therefore cleared away, and the
    next test gets the same database; unless the test changed more than rows, which a comparison
    of catalogs with those at the beginning finds out: then the next test gets a new one.
    """

    def __init__(self, template: str) -> None:
        self._template = template
        self._free: list[str] = []
        self._shapes: dict[str, str] = {}

    @contextmanager
    def borrow(self) -> Iterator[str]:
        """The URL of one that nobody else has."""
        url = self._free.pop() if self._free else self._make()
        clean = False
        try:
            yield url
            clean = self._clear(url)
        finally:
            if clean:
                self._free.append(url)
            else:
                _drop(url)

    def close(self) -> None:
        """Drop those that nobody has."""
        while self._free:
            _drop(self._free.pop())

    def _make(self) -> str:
        url = _create(self._template)
        engine = create_engine(parse_url(url))
        with engine.begin() as connection:
            partitions.ensure(connection, EPOCH.date(), _DAYS)
        engine.dispose()
        with connect(url) as connection:
            self._shapes[url] = shape(connection)
        return url

    def _clear(self, url: str) -> bool:
        """Remove every row and every partition that was not there; False: more has changed."""
        from psycopg import sql

        if not _is_left_alone(url):
            return False
        with connect(url) as connection:
            if connection.execute("SHOW default_transaction_read_only").fetchone() != ("off",):
                return False
            before = self._shapes[url]
            tables = connection.execute(
                "SELECT relname, relname ~ %s, pg_relation_size(oid) > 0 FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
                "AND relname <> 'alembic_version'",
                (_PARTITION,),
            ).fetchall()
            kept = {name for name, partition, _ in tables if f"relation {name} " in before}
            dropped = [name for name, partition, _ in tables if partition and name not in kept]
            filled = [name for name, _, used in tables if used and name in kept]
            for words, names in (("DROP TABLE {}", dropped), ("TRUNCATE {}", filled)):
                if names:
                    joined = sql.SQL(", ").join(map(sql.Identifier, names))
                    connection.execute(sql.SQL(words).format(joined))
            connection.execute(
                "SELECT setval(format('%I', sequencename)::regclass, start_value, false) "
                "FROM pg_sequences WHERE last_value IS NOT NULL"
            )
            return shape(connection) == before


def _create(template: str | None) -> str:
    from psycopg import sql

    name = f"rag_monitor_test_{uuid.uuid4().hex[:12]}"
    with connect() as server:
        create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            create += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        server.execute(create)
        info = server.info
        password = f":{info.password}" if info.password else ""
        return f"postgresql://{info.user}{password}@{info.host}:{info.port}/{name}"


def _drop(url: str) -> None:
    from psycopg import sql

    with connect() as server:
        server.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(_name(url)))
        )


def _is_left_alone(url: str) -> bool:
    """Whether no connection is left, once those that are have been ended."""
    with connect() as server:
        ended = server.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = %s AND backend_type = 'client backend'",
            (_name(url),),
        )
        return all(done for (done,) in ended)


def shape(connection: Connection[Any]) -> str:
    """Everything about a database that a test may change, but rows; a line each."""
    ((lines,),) = connection.execute(_SHAPE).fetchall()
    return str(lines)


def _name(url: str) -> str:
    return url.rsplit("/", 1)[1]
