"""What `/metrics` of a process says about the database and about who leads."""

from __future__ import annotations

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.errors import StoreUnavailable
from rag_monitor.exposition.collector import MonitorCollector, render
from rag_monitor.server.snapshots import Snapshots
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.aggregation.memory import MemoryRollups, facts


class _Database:
    """Answers, or does not."""

    def __init__(self) -> None:
        self.up = True

    def ping(self) -> None:
        if not self.up:
            raise StoreUnavailable("connection refused")


def _page(database: _Database, *, leads: bool) -> bytes:
    snapshots = Snapshots(
        Estimates(MemoryRollups([facts()])),
        apps=lambda: [("default", "test-app")],
        alerts=lambda: (),
        leads=lambda: leads,
        ping=database.ping,
        clock=ManualClock(EPOCH),
    )
    return render(MonitorCollector(snapshots.latest))[0]


def test_a_process_that_does_not_lead_says_when_the_database_is_away() -> None:
    database = _Database()
    assert b"rag_monitor_store_up 1.0" in _page(database, leads=False)

    database.up = False

    assert b"rag_monitor_store_up 0.0" in _page(database, leads=False)


def test_the_leader_is_told_from_the_others() -> None:
    assert b"rag_monitor_leads 1.0" in _page(_Database(), leads=True)
    assert b"rag_monitor_leads 0.0" in _page(_Database(), leads=False)


def test_nobody_leads_without_a_database() -> None:
    database = _Database()
    database.up = False

    assert b"rag_monitor_leads 0.0" in _page(database, leads=False)
