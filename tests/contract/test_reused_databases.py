"""A PostgreSQL database that the next test gets is as the one before got it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import ingest
from tests.postgresql import ReusedDatabases, connect, shape

pytestmark = pytest.mark.postgresql


@pytest.fixture
def databases(postgresql_template: str) -> Iterator[ReusedDatabases]:
    made = ReusedDatabases(postgresql_template)
    yield made
    made.close()


def _contents(url: str) -> tuple[set[str], dict[str, int], list[tuple[str, int]]]:
    """Names of everything, rows per table, sequences that have moved."""
    with connect(url) as connection:
        relations = connection.execute(
            "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        ).fetchall()
        rows = {
            name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0]  # noqa: S608
            for name, kind in relations
            if kind == "r"
        }
        moved = connection.execute(
            "SELECT sequencename, last_value FROM pg_sequences WHERE last_value IS NOT NULL"
        ).fetchall()
    return {name for name, _ in relations}, rows, moved


def test_what_a_store_wrote_and_the_days_it_made_are_gone(databases: ReusedDatabases) -> None:
    options = {"ballast_bytes": 0, "partitions_ahead": 3}
    with databases.borrow() as first:
        before = _contents(first)
        with Store.open(StoreOptions(url=first, **options), ManualClock()) as store:
            store.writer.start()
            ingest(store, make_trace())
        written = _contents(first)
    with databases.borrow() as second:
        assert second == first
        assert _contents(second) == before

    assert "traces_p20260107" in written[0] - before[0]
    assert sum(written[1].values()) > sum(before[1].values())
    assert written[2]
    assert not before[2]


def test_connections_that_a_test_left_open_are_ended(databases: ReusedDatabases) -> None:
    with databases.borrow() as first:
        left = connect(first)
        left.execute("BEGIN; LOCK TABLE traces")
    with databases.borrow() as second, connect(second) as connection:
        assert second == first
        (count,) = connection.execute("SELECT count(*) FROM traces").fetchone() or (None,)
    left.close()

    assert count == 0


def test_after_a_change_of_more_than_rows_the_next_test_gets_another(
    databases: ReusedDatabases,
) -> None:
    with databases.borrow() as first, connect(first) as connection:
        before = _contents(first)
        connection.execute("ALTER TABLE audit RENAME TO audit_gone")
    with databases.borrow() as second:
        assert second != first
        assert _contents(second) == before


CHANGES = (
    "UPDATE alembic_version SET version_num = '9999'",
    "ALTER TABLE audit RENAME TO audit_gone",
    "ALTER TABLE audit ADD COLUMN more int",
    "ALTER TABLE audit ALTER COLUMN action SET DEFAULT 'x'",
    "ALTER TABLE audit ALTER COLUMN action DROP NOT NULL",
    "ALTER TABLE audit ADD CHECK (action <> '')",
    "DROP INDEX ix_traces_session",
    f"DROP TABLE traces_p{EPOCH:%Y%m%d}",
    "CREATE TABLE mine (n int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "GRANT SELECT ON traces TO public",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database()); END $$",
    "ANALYZE alembic_version",
)


def test_every_change_of_more_than_rows_is_seen(databases: ReusedDatabases) -> None:
    unseen = []
    with databases.borrow() as url, connect(url) as connection:
        before = shape(connection)
        for change in CHANGES:
            with connection.transaction(force_rollback=True):
                connection.execute(change)
                if shape(connection) == before:
                    unseen.append(change)

        assert unseen == []
        assert shape(connection) == before
