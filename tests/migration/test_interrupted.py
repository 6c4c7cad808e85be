"""A migration that is killed in the middle leaves nothing, and is run again."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from sqlalchemy import create_engine, inspect

from rag_monitor.store import migration
from rag_monitor.store.engine import parse_url

_KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from rag_monitor.store import migration

url, left = sys.argv[1], int(sys.argv[2])

def count(connection, cursor, statement, *rest):
    global left
    left -= statement.lstrip().upper().startswith(("CREATE", "ALTER"))
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

event.listen(Engine, "after_cursor_execute", count)
migration.upgrade(url)
"""


def _tables(url: str) -> list[str]:
    engine = create_engine(parse_url(url))
    try:
        return sorted(inspect(engine).get_table_names())
    finally:
        engine.dispose()


@pytest.mark.parametrize("statement", [2, 25, 60])
def test_a_migration_that_is_killed_leaves_nothing_and_is_run_again(
    empty_database_url: str, statement: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, empty_database_url, str(statement)],
        check=False,
        timeout=60,
    )

    assert done.returncode == -signal.SIGKILL
    assert migration.current(empty_database_url) is None
    assert _tables(empty_database_url) == []
    assert migration.upgrade(empty_database_url) == migration.head()


@pytest.mark.parametrize("statement", [1, 3])
def test_an_upgrade_that_is_killed_leaves_the_revision_it_began_with(
    empty_database_url: str, statement: int
) -> None:
    begun = migration.revisions()[0]
    migration.upgrade(empty_database_url, begun)
    before = _tables(empty_database_url)
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, empty_database_url, str(statement)],
        check=False,
        timeout=60,
    )

    assert done.returncode == -signal.SIGKILL
    assert (migration.current(empty_database_url), _tables(empty_database_url)) == (begun, before)
    assert migration.upgrade(empty_database_url) == migration.head()
