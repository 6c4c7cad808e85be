"""Revisions build exactly the tables that the code uses, and take them away again."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from rag_monitor.errors import ConfigurationError, SchemaMismatch, StoreUnavailable
from rag_monitor.store import migration
from rag_monitor.store.engine import parse_url
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.partitions import day_of
from rag_monitor.store.schema import metadata
from rag_monitor.store.store import Store


def _engine(url: str):
    return create_engine(parse_url(url))


def _is_ours(obj, name, kind, reflected, compare_to) -> bool:
    return not (
        kind == "table"
        and (name.endswith("_default") or day_of(name) or name.startswith("trace_search"))
    )


def test_the_migrated_schema_equals_the_tables(empty_database_url: str) -> None:
    migration.upgrade(empty_database_url)
    engine = _engine(empty_database_url)

    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "include_object": _is_ours}
        )
        differences = compare_metadata(context, metadata)
    engine.dispose()

    assert differences == []


def test_going_down_to_base_leaves_no_table(empty_database_url: str) -> None:
    migration.upgrade(empty_database_url)
    migration.downgrade(empty_database_url, "base")
    engine = _engine(empty_database_url)

    left = set(inspect(engine).get_table_names()) - {"alembic_version"}
    engine.dispose()

    assert left == set()
    assert migration.current(empty_database_url) is None


def test_upgrading_twice_changes_nothing(empty_database_url: str) -> None:
    assert migration.current(empty_database_url) is None
    assert migration.upgrade(empty_database_url) == migration.head()
    assert migration.upgrade(empty_database_url) == migration.head()
    assert migration.current(empty_database_url) == migration.head()


def test_a_newer_schema_is_refused(database_url: str) -> None:
    engine = _engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()

    with pytest.raises(SchemaMismatch, match="newer rag-monitor"):
        Store.open(StoreOptions(url=database_url))
    with pytest.raises(SchemaMismatch, match="newer rag-monitor"):
        migration.upgrade(database_url)


def test_an_empty_database_is_refused_without_auto_migrate(empty_database_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="rag-monitor migrate"):
        Store.open(StoreOptions(url=empty_database_url, auto_migrate=False))


def test_sqlite_is_made_and_migrated_on_opening(tmp_path) -> None:
    url = f"sqlite:///{tmp_path / 'monitor.db'}"

    with Store.open(StoreOptions(url=url, ballast_bytes=0)):
        pass

    assert migration.current(url) == migration.head()


def test_a_missing_folder_is_named_and_not_made(tmp_path) -> None:
    url = f"sqlite:///{tmp_path / 'mistyped' / 'monitor.db'}"

    with pytest.raises(ConfigurationError, match=r"no folder .*mistyped"):
        Store.open(StoreOptions(url=url))
    with pytest.raises(ConfigurationError, match=r"no folder .*mistyped"):
        migration.upgrade(url)
    assert not (tmp_path / "mistyped").exists()


def test_an_unreachable_server_is_named_without_its_password() -> None:
    url = "postgresql://someone:hunter2@127.0.0.1:1/metrics"

    with pytest.raises(StoreUnavailable) as caught:
        Store.open(StoreOptions(url=url, connect_timeout_s=2))

    assert "127.0.0.1:1/metrics" in str(caught.value)
    assert "hunter2" not in str(caught.value)
