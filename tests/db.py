"""Databases for tests: SQLite files that are copied, PostgreSQL databases that are used again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rag_monitor.store import migration
from tests.postgresql import ReusedDatabases, database


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


@pytest.fixture(scope="session")
def postgresql_databases(postgresql_template: str) -> Iterator[ReusedDatabases]:
    """Migrated, empty databases that one test after the other may have."""
    databases = ReusedDatabases(postgresql_template)
    yield databases
    databases.close()


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
    with request.getfixturevalue("postgresql_databases").borrow() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def dialect(request: pytest.FixtureRequest) -> str:
    """Both databases, one after the other."""
    return request.param
