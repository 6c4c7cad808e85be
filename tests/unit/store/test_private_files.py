"""Who can read the files of a SQLite store: its user alone."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_monitor.store import migration
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock
from tests.contract.evidence import blob, write


@pytest.fixture(autouse=True)
def _generous_mask() -> Iterator[None]:
    """As on most machines: what is made without a word is readable by all."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_new_database_and_the_files_beside_it_are_its_users_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = StoreOptions(url=f"sqlite:///{tmp_path / 'm.db'}", ballast_bytes=2**20)
    with Store.open(options, ManualClock()) as store:
        store.writer.start()
        write(store, blob())
        modes = {file.name: _mode(file) for file in tmp_path.iterdir()}

    assert {"m.db", "m.db-wal", "m.db-shm"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert "can read" not in caplog.text


def test_a_migrated_database_is_its_users_alone(tmp_path: Path) -> None:
    migration.upgrade(f"sqlite:///{tmp_path / 'm.db'}")

    assert _mode(tmp_path / "m.db") == 0o600


def test_a_database_that_is_there_keeps_its_mode_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "m.db"
    migration.upgrade(f"sqlite:///{file}")
    file.chmod(0o644)

    with caplog.at_level(logging.WARNING, logger="rag_monitor.store"):
        Store.open(StoreOptions(url=f"sqlite:///{file}"), ManualClock()).close()

    assert _mode(file) == 0o644
    assert f"chmod o-r {file}*" in caplog.text
