"""What is left by a clock that was ahead is due once it was set back, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import blob, claim, ingest, write
from tests.contract.test_store_rest import ALERT, NOTE

AHEAD = EPOCH + timedelta(days=2)
MINUTES = EPOCH + timedelta(minutes=20)
LEASE_S = 60.0


@pytest.mark.parametrize("ahead", [AHEAD, MINUTES])
def test_traces_taken_in_by_a_clock_that_was_ahead_are_derived(
    store: Store, ahead: datetime
) -> None:
    write(store, blob(complete=True), at=ahead)
    assert store.spans.due(EPOCH) == []

    assert store.clock_repair.repair(LEASE_S) == 1
    assert [item.trace_id for item in store.spans.due(EPOCH)] == ["a" * 32]


@pytest.mark.parametrize("ahead", [AHEAD, MINUTES])
def test_traces_left_by_a_worker_that_died_ahead_are_judged(
    store: Store, clock: ManualClock, ahead: datetime
) -> None:
    clock.set(ahead)
    ingest(store, make_trace(id="a"), at=ahead)
    ingest(store, make_trace(id="b"), at=ahead)
    assert len(store.tasks.claim("dead", 1, LEASE_S, ahead)) == 1
    clock.set(EPOCH)
    assert claim(store) == []

    assert store.clock_repair.repair(LEASE_S) == 2
    assert len(claim(store)) + len(claim(store)) == 2


@pytest.mark.parametrize("ahead", [AHEAD, EPOCH + timedelta(minutes=2)])
def test_messages_of_a_clock_that_was_ahead_are_sent(store: Store, ahead: datetime) -> None:
    store.alerts.save([ALERT], [replace(NOTE, created_at=ahead)])
    assert store.outbox.due(EPOCH) == []

    assert store.clock_repair.repair(LEASE_S) == 1
    assert [note.dedup_key for note in store.outbox.due(EPOCH)] == [NOTE.dedup_key]


def test_what_arrived_while_the_query_waited_was_put_off_by_nobody(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, waited = clock.now, timedelta(minutes=2)

    def read_and_wait() -> datetime:
        moment = read()
        clock.advance(waited)
        return moment

    ingest(store, make_trace(id="a"), at=EPOCH + waited)
    monkeypatch.setattr(clock, "now", read_and_wait)

    assert store.clock_repair.repair(LEASE_S) == 0


def test_what_was_put_off_as_it_should_be_is_left_alone(store: Store) -> None:
    write(store, blob(), at=EPOCH)
    ingest(store, make_trace(id="b"))
    store.tasks.claim("alive", 1, 600, EPOCH)
    store.alerts.save([ALERT], [NOTE])
    (note,) = store.outbox.due(EPOCH)
    store.outbox.failed(note, "later, please", EPOCH + timedelta(minutes=50))

    assert store.clock_repair.repair(LEASE_S) == 0
    assert store.outbox.due(EPOCH) == []
