"""Databases for tests: SQLite files and throw-away PostgreSQL databases, copied from templates."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from rag_monitor.store import migration

SERVER = os.environ.get("RAG_MONITOR_TEST_POSTGRESQL", "postgresql://127.0.0.1:5432/postgres")
"""A database from which others can be made."""


def connect():
    """A connection to the server; skips the test where none answers."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    users = {"user": None} if "@" in SERVER else {"user": os.environ.get("PGUSER", "root")}
    options = {name: value for name, value in users.items() if value}
    try:
        return psycopg.connect(SERVER, autocommit=True, connect_timeout=3, **options)
    except psycopg.Error as error:
        pytest.skip(f"no PostgreSQL at {SERVER} (set RAG_MONITOR_TEST_POSTGRESQL): {error}")


@contextmanager
def database(template: str | None = None) -> Iterator[str]:
    """The URL of a new PostgreSQL database, dropped at the end."""
    name = f"rag_monitor_test_{uuid.uuid4().hex[:12]}"
    with connect() as server:
        from psycopg import sql

        info = server.info
        create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            create += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        server.execute(create)
        try:
            password = f":{info.password}" if info.password else ""
            yield f"postgresql://{info.user}{password}@{info.host}:{info.port}/{name}"
        finally:
            server.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )


@cache
def _sqlite_template() -> bytes:
    """What a migrated, empty SQLite file holds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "template.db"
        migration.upgrade(f"sqlite:///{file}")
        return file.read_bytes()


def new_sqlite(file: Path) -> str:
    """Make `file` a migrated, empty database, readable by its user alone; returns its URL.

    For tests that need the tables and not the migrations that make them.
    """
    file.touch(0o600, exist_ok=False)
    file.write_bytes(_sqlite_template())
    return f"sqlite:///{file}"


@pytest.fixture(scope="session")
def postgresql_template() -> Iterator[str]:
    """Name of a migrated, empty database to clone."""
    with database() as url:
        migration.upgrade(url)
        yield url.rsplit("/", 1)[1]


@pytest.fixture
def empty_database_url(dialect: str, tmp_path) -> Iterator[str]:
    """A database without tables."""
    if dialect == "sqlite":
        yield f"sqlite:///{tmp_path / 'monitor.db'}"
        return
    with database() as url:
        yield url


@pytest.fixture
def database_url(dialect: str, tmp_path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A migrated, empty database."""
    if dialect == "sqlite":
        yield new_sqlite(tmp_path / "monitor.db")
        return
    with database(request.getfixturevalue("postgresql_template")) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def dialect(request: pytest.FixtureRequest) -> str:
    """Both databases, one after the other."""
    return request.param
