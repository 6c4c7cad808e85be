"""What docs/operations.md tells people to set, type and copy exists and works."""

from __future__ import annotations

import re
import sqlite3
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
