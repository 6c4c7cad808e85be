"""A damaged file is found after a crash, weekly and when a page is met; and it is told."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor import telemetry
from rag_monitor.cli.application import app
from rag_monitor.errors import StoreDamaged
from rag_monitor.server.wiring import _health
from rag_monitor.store import integrity
from rag_monitor.store.integrity import quick_check, was_left_open
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.outage import Outage
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock
from tests.acceptance.running import eventually
from tests.unit.store.damage import damage, damage_root, filled

LOG = logging.getLogger("rag_monitor.test")


@pytest.fixture
def path(tmp_path: Path, clock: ManualClock) -> Path:
    file = tmp_path / "m.db"
    filled(file, clock, 50)
    return file


def opened(path: Path, clock: ManualClock) -> Store:
    return Store.open(StoreOptions(url=f"sqlite:///{path}", ballast_bytes=0), clock)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Released at the end of each look through a file."""
    done = threading.Semaphore(0)
    plain = integrity.Integrity.look

    def look(self: integrity.Integrity) -> None:
        plain(self)
        done.release()

    monkeypatch.setattr(integrity.Integrity, "look", look)
    return done


def leave_open(path: Path) -> None:
    """What a process leaves that was killed: a log that nobody folded into the file."""
    path.with_name(path.name + "-wal").write_bytes(b"\0" * 32)


def test_whole_and_damaged_files_are_told_apart(path: Path) -> None:
    assert quick_check(path) == []
    damage(path, f"{7:032x}")
    assert quick_check(path)
    assert quick_check(path, lambda: False) is None or path.stat().st_size < 10**6


def test_a_file_that_is_none_is_damaged_and_not_an_accident(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    path.write_bytes(b"\xff" * 8192)
    assert quick_check(path) == ["file is not a database"]


def test_a_stop_that_was_none_is_known_by_the_log_it_leaves(path: Path) -> None:
    assert not was_left_open(path)
    leave_open(path)
    assert was_left_open(path)
    path.with_name(path.name + "-wal").write_bytes(b"")
    assert was_left_open(path)


def test_after_a_crash_damage_is_found_and_degrades_health(
    path: Path, clock: ManualClock, looks: threading.Semaphore, caplog: pytest.LogCaptureFixture
) -> None:
    damage(path, f"{7:032x}")
    leave_open(path)
    with opened(path, clock) as store:
        assert looks.acquire(timeout=10)
        report = _health(store, clock, Outage(LOG, "not ready"))
        assert store.damage

    assert report.ready
    assert "damaged" in report.checks["file"]
    assert telemetry.STORE_DAMAGED._value.get() == 1
    assert [r for r in caplog.records if "rag-monitor recover" in r.getMessage()]


def test_a_file_that_was_closed_is_looked_through_when_a_week_is_over(
    path: Path, clock: ManualClock, looks: threading.Semaphore
) -> None:
    for days, expected in ((0, False), (6, False), (8, True), (9, False)):
        clock.set(EPOCH + timedelta(days=days))
        with opened(path, clock) as store:
            assert looks.acquire(timeout=10 if expected else 0.2) is expected, days
            assert store.damage is None
            assert "file" not in _health(store, clock, Outage(LOG, "not ready")).checks


def test_damage_is_looked_for_again_at_the_next_start(
    path: Path, clock: ManualClock, looks: threading.Semaphore
) -> None:
    with opened(path, clock):
        pass
    clock.set(EPOCH + timedelta(days=8))
    damage(path, f"{7:032x}")
    for _ in range(2):
        with opened(path, clock) as store:
            assert looks.acquire(timeout=10)
            assert store.damage


def test_a_statement_that_meets_damage_tells_once_without_a_look(
    path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(path, clock) as store:
        damage(path, f"{7:032x}")
        store._database.close()  # what is read from now on is read from the file
        for _ in range(3):
            with pytest.raises(StoreDamaged, match="rag-monitor recover"):
                store.spans.blobs("default", f"{7:032x}")
        assert "damaged" in _health(store, clock, Outage(LOG, "not ready")).checks["file"]
    assert len([r for r in caplog.records if "are damaged" in r.getMessage()]) == 1


def test_damage_that_the_background_look_meets_itself_is_told_once(
    path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(path, clock) as store:
        store._database.close()
        damage_root(path, "marks")
        background = integrity.Integrity(store._database, clock, after_crash=False)
        background.start()
        assert eventually(lambda: store.damage is not None)
        background.stop(10)
    told = [r for r in caplog.records if "damaged" in r.getMessage()]
    assert [r.levelno for r in told] == [logging.ERROR]


def test_doctor_names_damage_and_what_to_do(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_MONITOR_DATABASE_URL", f"sqlite:///{path}")
    whole = CliRunner().invoke(app, ["doctor"])
    damage(path, f"{7:032x}")
    hurt = CliRunner().invoke(app, ["doctor"])

    assert "every page of" in whole.stdout
    assert hurt.exit_code == 1
    assert "rag-monitor recover" in hurt.stdout.replace("\n", " ")
