"""What an operator is told when no connection is made."""

from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy.exc import OperationalError

from rag_monitor.errors import StoreFull, StoreUnavailable
from rag_monitor.store.failures import translate

HEAD = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: '


@pytest.mark.parametrize(
    ("said", "mend"),
    [
        (HEAD + 'FATAL:  database "monitor" does not exist', "create it, or correct"),
        (HEAD + 'FATAL:  role "nobody" does not exist', "correct user and password"),
        (HEAD + 'FATAL:  password authentication failed for user "a"', "correct user and"),
        (HEAD + "Connection refused", "see whether the server runs"),
        ("failed to resolve host 'db': [Errno -2]", "`database_url` names it"),
        ("the connection is lost", "try again"),
    ],
)
def test_an_operator_is_told_how_to_mend_it(said: str, mend: str) -> None:
    error = translate(OperationalError("select 1", {}, Exception(said)), "PostgreSQL db/monitor")

    assert isinstance(error, StoreUnavailable)
    assert mend in str(error).rpartition(");")[2]


def test_a_full_disk_is_named_as_one() -> None:
    said = sqlite3.OperationalError("database or disk is full")

    error = translate(OperationalError("select 1", {}, said), "SQLite m.db")

    assert isinstance(error, StoreFull)
    assert "make room" in str(error)
