"""A database that can be read and not changed is told by readiness, in one line, and counted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from rag_monitor import telemetry
from rag_monitor.errors import StoreUnavailable
from rag_monitor.server.wiring import _health
from rag_monitor.store import write_probe
from rag_monitor.store.outage import Outage
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock
from tests.contract.evidence import blob, write
from tests.contract.harm import harm, impatient

LOG = logging.getLogger("rag_monitor.test")


@pytest.fixture
def store(
    database_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    """A store that waits for nobody's locks for long, and has seen that it can write."""
    with Store.open(impatient(database_url, monkeypatch), clock) as opened:
        opened.writer.start()
        opened.look_at_writing()
        yield opened


def counted(kind: str) -> float:
    return telemetry.STORE_REFUSED.labels(reason=kind)._value.get()


@pytest.mark.parametrize("kind", ["read_only", "locked"])
def test_what_takes_no_change_is_not_ready_though_nobody_sends_anything(
    store: Store,
    database_url: str,
    clock: ManualClock,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(write_probe, "EVERY_S", 0.0)
    outage = Outage(LOG, "not ready")
    before = counted(kind)
    with harm(kind, store, database_url):
        reports = [_health(store, clock, outage) for _ in range(3)]

    assert [report.ready for report in reports] == [False] * 3
    assert all("takes nothing in" in report.checks["store"] for report in reports)
    assert counted(kind) == before + 3
    (line,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.exc_info is None
    assert _health(store, clock, outage).ready


@pytest.mark.parametrize("kind", ["read_only", "locked"])
def test_a_change_that_was_refused_makes_the_next_look_try(
    store: Store, database_url: str, clock: ManualClock, kind: str
) -> None:
    with harm(kind, store, database_url):
        assert _health(store, clock, Outage(LOG, "not ready")).ready  # seen to work a moment ago
        with pytest.raises(StoreUnavailable):
            write(store, blob())
        assert not _health(store, clock, Outage(LOG, "not ready")).ready


def test_looks_write_once_in_a_while_however_often_they_come(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(store._database, "attempt", lambda *_, **__: tried.append(1) or True)
    for _ in range(50):
        assert _health(store, clock, Outage(LOG, "not ready")).ready
    assert not tried
    monkeypatch.setattr(write_probe, "EVERY_S", 0.0)
    _health(store, clock, Outage(LOG, "not ready"))
    assert len(tried) == 1


def test_a_long_change_of_our_own_is_no_reason_to_be_unready(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_probe, "EVERY_S", 0.0)
    monkeypatch.setattr(write_probe, "_TURN_S", 0.05)
    inside, over = threading.Event(), threading.Event()

    def work(_: object) -> None:
        inside.set()
        over.wait(10)

    thread = threading.Thread(target=lambda: store._database.transact(work))
    thread.start()
    inside.wait(10)
    try:
        assert _health(store, clock, Outage(LOG, "not ready")).ready
    finally:
        over.set()
        thread.join()
