"""Ways to keep a database from taking changes while it can be read."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from rag_monitor.store import engine, write_probe
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store


def impatient(url: str, monkeypatch: pytest.MonkeyPatch) -> StoreOptions:
    """Options of a store that waits for nobody's locks for long."""
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 100)
    monkeypatch.setattr(write_probe, "_LOCK_MS", 100)
    return StoreOptions(
        url=url, ballast_bytes=0, partitions_ahead=1, retry_s=0.1, write_timeout_s=0.5,
        statement_timeout_s=1.5, claim_s=2.0,
    )  # fmt: skip


def harm(kind: str, store: Store, url: str) -> AbstractContextManager[None]:
    """Refuse changes for a `kind` of reason: `read_only`, `locked` or, on SQLite only, `full`."""
    return {"read_only": _read_only, "locked": _locked, "full": _full}[kind](store, url)


@contextlib.contextmanager
def _read_only(store: Store, url: str) -> Iterator[None]:
    """Every change is refused, as by a standby or a disk that is mounted read-only."""
    if url.startswith("sqlite"):
        _pragma(store, "query_only=ON")
        yield
        _pragma(store, "query_only=OFF")
        return
    _default(url, "on")
    yield
    _default(url, "off")


def _pragma(store: Store, text: str) -> None:
    connection = store._database._writer.raw_connection()
    with contextlib.closing(connection):
        connection.cursor().execute(f"PRAGMA {text}")


def _default(url: str, value: str) -> None:
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {value}')
        connection.execute(  # the setting is that of new sessions
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'rag-monitor'"
        )


@contextlib.contextmanager
def _locked(store: Store, url: str) -> Iterator[None]:
    """Another program keeps the file, or a table that everything goes into, to itself."""
    del store
    if url.startswith("sqlite"):
        other = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        with contextlib.closing(other):
            other.execute("PRAGMA busy_timeout=10000")
            other.execute("BEGIN EXCLUSIVE")
            yield
        return
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute("LOCK TABLE spans IN EXCLUSIVE MODE")
        yield
        connection.rollback()


@contextlib.contextmanager
def _full(store: Store, url: str) -> Iterator[None]:
    """The file may not grow. What fits into its pages may still be changed, as on a full disk."""
    if not url.startswith("sqlite"):
        pytest.skip("a full disk of PostgreSQL needs a disk")
    _pragma(store, "max_page_count=1")  # SQLite makes it the present size
    yield
    _pragma(store, "max_page_count=1073741823")
