"""What is acknowledged and not a trace yet is counted and bounded, and every sum holds it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text, update

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.domain.ports import IngestBatch
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.trace import Trace, TraceStatus
from rag_monitor.domain.window import Window
from rag_monitor.errors import QueueFull
from rag_monitor.store.engine import Database
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.store.tables import spans
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import blob, claim, ingest, write

WINDOW = Window(EPOCH - timedelta(days=2), EPOCH + timedelta(days=1))


def counted(store: Store, app: str = "demo", window: Window = WINDOW) -> dict[str, int]:
    """Traces by status, as pages and the API count them."""
    return {
        k: n
        for k, n in Estimates(store.rollups)
        .traces(Selection(project="default", app=app, window=window))
        .items()
        if n
    }


def add_up(store: Store) -> None:
    with store.reading():
        dirty = store.rollups.changed()
        facts = store.rollups.facts(dirty)
    store.rollups.replace(dirty, summarise(facts))


def of(number: int, app: str = "demo", **fields: object) -> Trace:
    return replace(make_trace(id=str(number)), app=app, started_at=EPOCH, **fields)


def test_what_is_acknowledged_is_counted_until_it_is_a_trace(store: Store) -> None:
    write(store, blob("a" * 32, complete=True), blob("b" * 32))
    write(store, blob("c" * 32, complete=True), project="other")

    mine = store.spans.assembling(EPOCH + timedelta(seconds=20), "default")
    assert (mine.traces, mine.oldest_s) == (2, 20), "one waits for more of its spans"
    assert store.spans.assembling(EPOCH).traces == 3

    pending = store.spans.due(EPOCH)
    store.traces.save_derived([(item, make_trace(id=item.trace_id)) for item in pending])
    assert store.spans.assembling(EPOCH).traces == 1
    assert store.spans.assembling(EPOCH).oldest_s == 0


def test_a_claim_that_leads_to_nothing_makes_nothing_look_young(store: Store) -> None:
    """A worker that claims and fails, again and again, must not hide what waits."""
    write(store, blob(complete=True))
    for minutes in range(5):
        assert len(store.spans.due(EPOCH + timedelta(minutes=minutes))) == 1

    assert store.spans.assembling(EPOCH + timedelta(minutes=5)).oldest_s == 300


def test_late_spans_of_a_trace_are_no_trace_more(store: Store) -> None:
    ingest(store, make_trace())
    write(store, blob(make_trace().trace_id, payload=b"late", complete=True))

    assert store.spans.assembling(EPOCH).traces == 0


def test_a_trace_is_counted_as_soon_as_it_is_saved_and_never_twice(store: Store) -> None:
    ingest(store, *(of(n) for n in range(3)), of(3, status=TraceStatus.ERROR, error="x"))
    assert counted(store) == {"ok": 3, "error": 1}, "before anything is added up"

    add_up(store)
    assert counted(store) == {"ok": 3, "error": 1}
    ingest(store, of(4))
    assert counted(store) == {"ok": 4, "error": 1}
    add_up(store)
    assert counted(store) == {"ok": 4, "error": 1}


def test_traces_that_come_while_a_minute_is_added_up_stay_counted(store: Store) -> None:
    ingest(store, of(0))
    with store.reading():
        dirty = store.rollups.changed()
        facts = store.rollups.facts(dirty)
    ingest(store, of(1), of(2))
    store.rollups.replace(dirty, summarise(facts))

    assert counted(store) == {"ok": 3}
    add_up(store)
    assert counted(store) == {"ok": 3}
    assert store.rollups.changed() == []


def test_a_new_revision_moves_its_count_and_adds_none(store: Store) -> None:
    first = of(1, release="v1")
    ingest(store, first)
    moved = replace(first, release="v2", app="other", status=TraceStatus.ERROR, error="x")
    ingest(store, moved, payload=b"v2")

    assert counted(store) == {}
    assert counted(store, "other") == {"error": 1}
    add_up(store)
    assert (counted(store), counted(store, "other")) == ({}, {"error": 1})


def test_history_is_counted_though_its_hour_and_day_were_added_up_before(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, of(0))
    add_up(store)
    clock.advance(timedelta(days=3))
    for _ in range(3):
        for block in store.rollups.stale(clock.now()):
            store.rollups.put_blocks([(block, store.rollups.parts(block))])
    assert counted(store) == {"ok": 1}

    ingest(store, of(1), at=clock.now())

    assert counted(store) == {"ok": 2}, "a block is not read once one of its minutes has more"


def test_counts_of_late_traces_say_that_they_are_late(store: Store, clock: ManualClock) -> None:
    """A rule on missing traffic must not take an import for traffic, not even for a moment."""
    clock.advance(timedelta(hours=3))
    ingest(store, of(0), at=clock.now())

    selection = Selection(project="default", app="demo", window=WINDOW)
    live = Estimates(store.rollups).live_by_step(selection, timedelta(minutes=1))
    assert sum(live) == 0
    assert counted(store) == {"ok": 1}


def test_imported_traces_and_history_are_judged_behind_live_ones(
    store: Store, clock: ManualClock
) -> None:
    batch = IngestBatch(
        project="default",
        received_at=EPOCH,
        blobs=(blob("a" * 32, complete=True),),
        bulk=True,
    )
    asyncio.run(store.writer.write(batch))
    (pending,) = store.spans.due(EPOCH)
    imported = replace(make_trace(id="a"), trace_id="a" * 32, started_at=EPOCH)
    store.traces.save_derived([(pending, imported)])
    clock.advance(timedelta(hours=2))
    ingest(store, replace(make_trace(id="old"), started_at=EPOCH), at=clock.now())
    ingest(store, replace(make_trace(id="live"), started_at=clock.now()), at=clock.now())

    backlog = store.tasks.backlog(clock.now())
    assert (backlog.waiting, backlog.bulk) == (3, 2)
    assert (backlog.lag_s, backlog.bulk_lag_s) == (0, 7200)
    first, second = claim(store, at=clock.now()), claim(store, at=clock.now())
    assert [task.bulk for task in first] == [False]
    assert [task.bulk for task in second] == [True, True]


def test_evidence_that_is_damaged_holds_up_nothing_else(store: Store, database_url: str) -> None:
    write(store, blob("a" * 32, complete=True), blob("b" * 32, complete=True))
    database = Database(StoreOptions(url=database_url))
    database.transact(
        lambda connection: connection.execute(
            update(spans).where(spans.c.trace_id == "a" * 32).values(payload=b"no zlib")
        )
    )
    database.close()

    found = {item.trace_id: item.blobs for item in store.spans.due(EPOCH)}

    assert found["a" * 32] == ()
    assert [payload for _, payload in found["b" * 32]] == [b"evidence"]


def test_senders_wait_while_too_much_waits_to_be_assembled(
    database_url: str, clock: ManualClock
) -> None:
    options = StoreOptions(
        url=database_url, assembly_backlog=3, ballast_bytes=0, partitions_ahead=1
    )
    with Store.open(options, clock) as store:
        store.writer.start()
        write(store, *(blob(str(n) * 32, complete=True) for n in range(1, 5)))
        assert eventually(lambda: store.writer.behind)

        with pytest.raises(QueueFull, match="wait to be assembled"):
            write(store, blob("9" * 32, complete=True))

        store.traces.save_derived([(item, None) for item in store.spans.due(EPOCH)])
        assert eventually(lambda: not store.writer.behind)
        assert write(store, blob("9" * 32, complete=True)).new == 1


def eventually(holds: object, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


def test_counting_what_waits_reads_an_index_and_no_table(store: Store, database_url: str) -> None:
    del store
    if database_url.startswith("postgresql"):
        pytest.skip("PostgreSQL chooses by statistics, which an empty table does not have")
    database = Database(StoreOptions(url=database_url))
    with database.read() as connection:
        plan = connection.execute(
            text(
                "EXPLAIN QUERY PLAN SELECT count(*), min(due_at) FROM trace_keys "
                "WHERE due_at IS NOT NULL AND derived_version = 0 "
                "AND coalesce(project, '') = 'default'"
            )
        ).all()
    database.close()

    assert "COVERING INDEX ix_trace_keys_waiting" in str(plan)
