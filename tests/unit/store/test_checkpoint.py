"""Folding SQLite's write-ahead log keeps nobody waiting."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from rag_monitor.store import engine
from rag_monitor.store.engine import Database
from rag_monitor.store.options import StoreOptions


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 120_000)
    database = Database(StoreOptions(url=f"sqlite:///{tmp_path}/monitor.db"))
    database.transact(lambda connection: connection.execute(text("CREATE TABLE one (n INTEGER)")))
    return database


def _insert(database: Database) -> None:
    database.transact(lambda connection: connection.execute(text("INSERT INTO one VALUES (1)")))


def _log_bytes(database: Database) -> int:
    return Path(f"{database.url.database}-wal").stat().st_size


def test_a_checkpoint_waits_for_no_reader_and_keeps_no_writer_waiting(database: Database) -> None:
    with database.read() as connection:
        connection.execute(text("SELECT count(*) FROM one")).scalar_one()
        _insert(database)  # the reader still sees the moment before it
        folding = threading.Thread(target=database.checkpoint, daemon=True)
        folding.start()
        writing = threading.Thread(target=_insert, args=(database,), daemon=True)
        writing.start()
        for thread in (folding, writing):
            thread.join(30)

        assert not folding.is_alive()
        assert not writing.is_alive()
        assert connection.execute(text("SELECT count(*) FROM one")).scalar_one() == 0


def test_without_readers_the_log_is_cut(database: Database) -> None:
    _insert(database)
    database.checkpoint()

    assert _log_bytes(database) == 0


def test_writers_wait_for_each_other_as_before(database: Database) -> None:
    database.checkpoint()
    with database.write() as connection:
        waits = connection.execute(text("PRAGMA busy_timeout")).scalar_one()

    assert waits == engine.BUSY_TIMEOUT_MS
