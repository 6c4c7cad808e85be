"""A monitor that pages speak to, and the folder their reader sits in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_monitor as rm
import rag_monitor_langchain
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from tests.acceptance.running import Monitor, monitor
from tests.docs import commands, given


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    folder = tmp_path_factory.mktemp("monitor")
    with monitor(folder, f"sqlite:///{folder / 'rag_monitor.db'}") as started:
        yield started


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty, with its tables made."""
    file = tmp_path_factory.mktemp("database") / "mine.db"
    Store.open(StoreOptions(url=f"sqlite:///{file}", ballast_bytes=0)).close()
    return file


@pytest.fixture
def folder(
    tmp_path: Path, running: Monitor, database: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Where the reader sits; the address of the monitor is the printed one."""
    given.write_files(tmp_path)
    shutil.copy(database, tmp_path)
    for name in [key for key in os.environ if key.startswith("RAG_MONITOR_")]:
        monkeypatch.delenv(name)
    for key, value in commands.environment(tmp_path, running.url).items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(tmp_path)
    rm.configure()  # what the first trace of a fresh process does; the page before ended ours
    yield tmp_path
    rag_monitor_langchain.uninstrument()
    rm.shutdown()
