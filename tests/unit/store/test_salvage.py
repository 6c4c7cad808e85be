"""What is readable of a damaged file comes into a new one, and the rest is counted."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.domain.stored import TraceQuery
from rag_monitor.errors import ConfigurationError
from rag_monitor.store.integrity import quick_check
from rag_monitor.store.lockfile import FileLock
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.salvage import salvage
from rag_monitor.store.store import Store
from rag_monitor.store.tables import metadata
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import ingest
from tests.db import new_sqlite
from tests.unit.store.damage import damage, damage_root, filled, ids

TRACES = 400


@pytest.fixture
def source(tmp_path: Path, clock: ManualClock) -> Path:
    path = tmp_path / "m.db"
    filled(path, clock, TRACES)
    return path


def evidence(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    found = [name for (name,) in connection.execute("SELECT trace_id FROM spans ORDER BY rowid")]
    connection.close()
    return found


def test_a_whole_file_is_copied_whole(source: Path, tmp_path: Path) -> None:
    before = source.read_bytes()
    tables = salvage(source, tmp_path / "new.db")

    assert {one.table: (one.copied, one.lost) for one in tables}["spans"] == (TRACES, 0)
    assert all(one.lost == 0 for one in tables)
    assert evidence(tmp_path / "new.db") == ids(TRACES)
    assert source.read_bytes() == before


@pytest.mark.parametrize("at", [(1,), (200,), (TRACES,), (1, 2, 3), (100, 200, 300), (150, 156)])
def test_rows_of_damaged_pages_are_lost_and_all_others_are_not(
    source: Path, tmp_path: Path, at: tuple[int, ...]
) -> None:
    damaged = sum(damage(source, f"{number:032x}") for number in at)
    assert damaged >= 1

    tables = {one.table: one for one in salvage(source, tmp_path / "new.db")}
    spans = tables["spans"]

    assert spans.copied + (spans.lost or 0) == TRACES
    left = evidence(tmp_path / "new.db")
    assert len(left) == spans.copied
    assert not {f"{number:032x}" for number in at} & set(left)
    assert 1 <= TRACES - spans.copied <= 4 * len(at), "four rows are on a page"
    assert quick_check(tmp_path / "new.db") == []


def test_a_table_that_is_lost_takes_no_other_with_it(source: Path, tmp_path: Path) -> None:
    damage_root(source, "spans")
    tables = {one.table: one for one in salvage(source, tmp_path / "new.db")}

    assert tables["spans"].copied == 0
    assert tables["spans"].lost == TRACES
    assert (tables["trace_keys"].copied, tables["trace_keys"].lost) == (TRACES, 0)


def test_a_trace_that_is_lost_is_assembled_again_from_its_spans(
    tmp_path: Path, clock: ManualClock
) -> None:
    path = tmp_path / "m.db"
    with Store.open(StoreOptions(url=new_sqlite(path), ballast_bytes=0), clock) as store:
        store.writer.start()
        ingest(store, make_trace())
        assert not store.spans.due(EPOCH, 10)
    damage_root(path, "traces")
    salvage(path, tmp_path / "new.db")

    options = StoreOptions(url=f"sqlite:///{tmp_path / 'new.db'}", ballast_bytes=0)
    with Store.open(options, clock) as store:
        (due,) = store.spans.due(EPOCH, 10)
    assert due.trace_id == make_trace().trace_id


def test_questions_are_found_again_after_the_index_was_made_anew(
    tmp_path: Path, clock: ManualClock
) -> None:
    path = tmp_path / "m.db"
    with Store.open(StoreOptions(url=new_sqlite(path), ballast_bytes=0), clock) as store:
        store.writer.start()
        ingest(store, make_trace())
    salvage(path, tmp_path / "new.db")

    options = StoreOptions(url=f"sqlite:///{tmp_path / 'new.db'}", ballast_bytes=0)
    with Store.open(options, clock) as store:
        assert store.traces.index_questions() == 1
        question = make_trace().question or ""
        found = store.traces.search(TraceQuery(project="default", q=question[:8]))
    assert [one.trace_id for one in found.items] == [make_trace().trace_id]


def test_what_cannot_be_salvaged_says_why(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there already"):
        salvage(source, source)
    with pytest.raises(ConfigurationError, match="there is no file"):
        salvage(tmp_path / "other.db", tmp_path / "new.db")
    lock = FileLock(source)
    with pytest.raises(ConfigurationError, match="in use by another"):
        salvage(source, tmp_path / "new.db")
    lock.release()
    source.write_bytes(b"\xff" * 8192)
    with pytest.raises(ConfigurationError, match="restore a backup"):
        salvage(source, tmp_path / "new.db")
    foreign = tmp_path / "foreign.db"
    sqlite3.connect(foreign).execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(ConfigurationError, match="no database of rag-monitor"):
        salvage(foreign, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_the_command_counts_by_table_and_tells_losses_by_its_status(
    source: Path, tmp_path: Path
) -> None:
    run = CliRunner().invoke
    whole = run(app, ["recover", str(source), str(tmp_path / "a.db")])
    assert whole.exit_code == 0
    assert f"spans: {TRACES} rows copied, 0 lost" in whole.stdout

    damage(source, f"{9:032x}")
    hurt = run(app, ["recover", str(source), str(tmp_path / "b.db"), "--json"])
    told = json.loads(hurt.stdout)
    (spans,) = [one for one in told["tables"] if one["table"] == "spans"]
    assert hurt.exit_code == 1
    assert spans["copied"] + spans["lost"] == TRACES
    assert spans["lost"] > 0
    assert told["findings"] == []
    chinese = run(app, ["recover", str(source), str(tmp_path / "c.db"), "--language", "zh"])
    assert "复制了" in chinese.stdout


def test_every_table_is_known_to_whoever_salvages_alone() -> None:
    code = "import rag_monitor.store.salvage as s; print(*sorted(s.metadata.tables))"

    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(alone.stdout.split()) == set(metadata.tables)
