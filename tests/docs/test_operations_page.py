"""What docs/operations.md tells people to set, type and copy exists and works."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from rag_monitor.config import FOREIGN_VARIABLES, load_settings
from rag_monitor.errors import ConfigurationError
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bRAG_MONITOR_[A-Z_]+[A-Z]\b", PAGE))))
def test_every_variable_is_one_the_monitor_reads(name: str) -> None:
    if name.removeprefix("RAG_MONITOR_") in FOREIGN_VARIABLES:
        return
    problem = ""
    try:
        load_settings(None, {name: "1"})
    except ConfigurationError as error:
        problem = str(error)
    assert "unknown environment variable" not in problem


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?:deploy|benchmarks)/[\w./-]+\w", PAGE))))
def test_every_file_named_exists(path: str) -> None:
    if path != "deploy/.env":  # the reader makes it
        assert (ROOT / path).exists()


def test_the_backup_of_a_running_monitor_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (source,) = _blocks("python")
    with Store.open(StoreOptions(url="sqlite:///rag_monitor.db", ballast_bytes=0)) as store:
        lease = store.leases.acquire("kept", "me", 60.0)
        exec(compile(source, "operations.md", "exec"), {})  # noqa: S102 - our own page
    assert lease is not None
    with closing(sqlite3.connect("backup.db")) as backup:
        rows = backup.execute("SELECT owner FROM leases WHERE name = 'kept'").fetchall()
    assert rows == [("me",)]


def test_a_backup_of_no_database_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (source,) = _blocks("python")

    with pytest.raises(sqlite3.OperationalError):
        exec(compile(source, "operations.md", "exec"), {})  # noqa: S102 - our own page


def test_a_backup_is_restored_beside_what_a_crash_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (backup,) = _blocks("python")
    (restore,) = [block for block in _blocks("sh") if "backup.db" in block]
    running, crashed = tmp_path / "running", tmp_path / "crashed"
    running.mkdir()
    monkeypatch.chdir(running)
    with Store.open(StoreOptions(url="sqlite:///rag_monitor.db", ballast_bytes=0)) as store:
        store.leases.acquire("kept", "me", 60.0)
        exec(compile(backup, "operations.md", "exec"), {})  # noqa: S102 - our own page
        for number in range(200):
            store.leases.acquire(f"later {number}", "me", 60.0)
        shutil.copytree(running, crashed)  # with the log that nobody folds into the file any more
    assert (crashed / "rag_monitor.db-wal").stat().st_size > 0

    subprocess.run(["sh", "-e", "-c", restore], cwd=crashed, check=True)

    with closing(sqlite3.connect(crashed / "rag_monitor.db")) as restored:
        assert restored.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert restored.execute("SELECT name FROM leases").fetchall() == [("kept",)]
