"""What is told while the database takes nothing in: once in the log, and by `/readyz`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.errors import StoreFull, StoreUnavailable
from rag_monitor.server.wiring import _health
from rag_monitor.store import outage
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.outage import Outage
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock
from tests.contract.evidence import blob, write
from tests.db import new_sqlite

LOG = logging.getLogger("rag_monitor.test")


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=new_sqlite(tmp_path / "m.db"), ballast_bytes=0)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened


def _refuse(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: type[StoreUnavailable] = StoreFull
) -> None:
    def refuse(work: Callable[[Any], Any], **_: Any) -> Any:
        store._database.doubted = True
        raise error

    for name in ("transact", "attempt"):
        monkeypatch.setattr(store._database, name, refuse)


def test_an_outage_of_taking_in_is_told_once_and_its_end_too(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="rag_monitor.store.writer")
    monkeypatch.setattr(outage, "SETTLED_S", 0.0)
    with monkeypatch.context() as patch:
        _refuse(store, patch)
        for number in range(3):
            with pytest.raises(StoreFull):
                write(store, blob(f"{number:032x}"))
    for number in range(3):
        write(store, blob(f"{number:032x}"))

    begun, ended = [record.getMessage() for record in caplog.records]
    assert begun.startswith("no traces are taken in")
    assert "disk of the database is full" in begun
    assert ended.startswith("no traces are taken in, senders are told to try again: over after")


def test_readiness_names_a_full_disk_and_what_was_stored_is_still_served(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _refuse(store, patch)
        with pytest.raises(StoreFull):
            write(store, blob())
        report = _health(store, clock, Outage(LOG, "not ready"))

    assert report.ready
    assert "disk of the database is full" in report.checks["ingest"]
    assert "ingest" not in _health(store, clock, Outage(LOG, "not ready")).checks


def test_a_process_that_only_takes_in_is_not_ready_while_the_disk_is_full(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _refuse(store, patch)
        with pytest.raises(StoreFull):
            write(store, blob())
        report = _health(store, clock, Outage(LOG, "not ready"), takes_only=True)

    assert not report.ready
    assert "disk of the database is full" in report.checks["ingest"]
    assert _health(store, clock, Outage(LOG, "not ready"), takes_only=True).ready


def test_a_process_that_starts_on_a_full_disk_does_not_wait_for_a_trace_to_say_so(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _refuse(store, patch)
        report = _health(store, clock, Outage(LOG, "not ready"))
        begun = _health(store, clock, Outage(LOG, "not ready"), takes_only=True)

    assert "disk of the database is full" in report.checks["ingest"]
    assert (report.ready, begun.ready) == (True, False)
    assert "ingest" not in _health(store, clock, Outage(LOG, "not ready")).checks


def test_a_database_that_cannot_be_written_is_not_ready_until_it_can(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        assert _health(store, clock, Outage(LOG, "not ready")).ready
        _refuse(store, patch, StoreUnavailable)
        assert _health(store, clock, Outage(LOG, "not ready")).ready
        with pytest.raises(StoreUnavailable):
            write(store, blob())
        report = _health(store, clock, Outage(LOG, "not ready"))

    assert not report.ready
    assert "takes nothing in" in report.checks["store"]
    assert _health(store, clock, Outage(LOG, "not ready")).ready
