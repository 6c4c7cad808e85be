"""Group commit and derivation state, on each database."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from rag_monitor.domain.ports import BlobFormat, IngestBatch
from rag_monitor.errors import NotIngesting, QueueFull, StoreUnavailable
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH
from tests.contract.evidence import blob, write


def _due_after(store: Store, seconds: float) -> list[str]:
    return [item.trace_id for item in store.spans.due(EPOCH + timedelta(seconds=seconds))]


def test_a_resent_request_is_a_duplicate_and_changes_nothing(store: Store) -> None:
    first = write(store, blob(complete=True))
    second = write(store, blob(complete=True), at=EPOCH + timedelta(days=3))

    (pending,) = store.spans.due(EPOCH)
    assert (first.new, first.duplicates) == (1, 0)
    assert (second.new, second.duplicates) == (0, 1)
    assert pending.blobs == ((BlobFormat.TRACE_JSON, b"evidence"),)
    assert pending.version == 1
    assert pending.received_at == EPOCH


def test_the_same_blob_twice_in_one_batch_is_stored_once(store: Store) -> None:
    outcome = write(store, blob(), blob(), blob(payload=b"other"))

    assert (outcome.new, outcome.duplicates) == (2, 1)
    assert len(store.spans.blobs("default", "a" * 32)) == 2


async def test_many_concurrent_writes_are_all_answered_and_all_there(store: Store) -> None:
    batches = [
        IngestBatch(project="default", received_at=EPOCH, blobs=(blob(f"{n:032x}", complete=True),))
        for n in range(1, 301)
    ]

    outcomes = await asyncio.gather(*(store.writer.write(batch) for batch in batches))

    assert sum(outcome.new for outcome in outcomes) == 300
    assert len(store.spans.due(EPOCH, 1000)) == 300
    assert store.writer.waiting == 0


def test_projects_with_the_same_trace_id_stay_apart(store: Store) -> None:
    assert write(store, blob(), project="one").new == 1
    assert write(store, blob(), project="two").new == 1


def test_a_trace_is_due_by_what_is_known_of_it(store: Store) -> None:
    write(store, blob("a" * 32, complete=True, has_root=True))
    write(store, blob("b" * 32, has_root=True))
    write(store, blob("c" * 32))

    assert _due_after(store, 0) == ["a" * 32]
    assert _due_after(store, 15) == ["b" * 32]
    assert "c" * 32 not in _due_after(store, 59)
    assert "c" * 32 in _due_after(store, 60)


def test_a_root_that_follows_makes_its_trace_due_sooner(store: Store) -> None:
    write(store, blob())
    write(store, blob(payload=b"root", has_root=True), at=EPOCH + timedelta(seconds=5))

    assert _due_after(store, 19) == []
    (pending,) = store.spans.due(EPOCH + timedelta(seconds=20))
    assert pending.version == 2


def test_a_claimed_trace_is_hidden_until_the_claim_runs_out(store: Store) -> None:
    write(store, blob(complete=True))

    assert _due_after(store, 0) == ["a" * 32]
    assert _due_after(store, 29) == []
    assert _due_after(store, 30) == ["a" * 32]


def test_evidence_after_derivation_makes_the_trace_due_again(store: Store) -> None:
    write(store, blob(complete=True))
    store.traces.save_derived([(pending, None) for pending in store.spans.due(EPOCH)])
    assert store.spans.assembling(EPOCH).traces == 0

    write(store, blob(payload=b"late"), at=EPOCH + timedelta(seconds=100))

    assert _due_after(store, 114) == []
    (pending,) = store.spans.due(EPOCH + timedelta(seconds=115))
    assert {payload for _, payload in pending.blobs} == {b"evidence", b"late"}


def test_evidence_during_derivation_is_not_forgotten(store: Store) -> None:
    write(store, blob(complete=True))
    claimed = store.spans.due(EPOCH)
    write(store, blob(payload=b"meanwhile", complete=True))

    store.traces.save_derived([(pending, None) for pending in claimed])

    assert _due_after(store, 0) == ["a" * 32]


async def test_a_full_queue_refuses_and_recovers(store: Store, database_url: str) -> None:
    store.close()
    options = StoreOptions(url=database_url, queue_rows=2, ballast_bytes=0)
    with Store.open(options) as small:
        small.writer.start()
        # Nobody answers before this coroutine yields, so the third finds two waiting.
        tasks = [
            asyncio.ensure_future(
                small.writer.write(
                    IngestBatch(
                        project="default", received_at=EPOCH, blobs=(blob(f"{n:032x}"),) * size
                    )
                )
            )
            for n, size in ((1, 2), (2, 3))
        ]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert results[0].new == 1
        # Either the first was durable already, or the second was refused; never lost.
        assert isinstance(results[1], QueueFull) or results[1].new == 1
        later = await small.writer.write(
            IngestBatch(project="default", received_at=EPOCH, blobs=(blob("f" * 32),))
        )
        assert later.new == 1


async def test_a_stopped_writer_says_so(store: Store) -> None:
    assert store.writer.stop(5)

    with pytest.raises(StoreUnavailable, match="shutting down"):
        await store.writer.write(IngestBatch(project="default", received_at=EPOCH, blobs=(blob(),)))


def test_a_process_of_another_role_says_where_traces_go(database_url: str) -> None:
    with Store.open(StoreOptions(url=database_url, ballast_bytes=0)) as idle:
        batch = IngestBatch(project="default", received_at=EPOCH, blobs=(blob(),))
        with pytest.raises(NotIngesting, match="`ingest`"):
            asyncio.run(idle.writer.write(batch))
        assert idle.writer.waiting == 0
