"""Tasks whose worker died or was stopped: tried again, found alone, parked, given back."""

from __future__ import annotations

from datetime import timedelta

from rag_monitor.store.store import Store
from rag_monitor.store.tasks import POISON
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import claim, ingest

LEASE = timedelta(seconds=60)


def test_a_trace_that_kills_its_worker_three_times_is_parked_and_its_neighbours_are_judged(
    store: Store,
) -> None:
    """A worker dies on every batch that holds the poison, and finishes all others."""
    traces = [make_trace(id=str(n)) for n in range(32)]
    poison = traces[7].trace_id
    ingest(store, *traces)
    now, judged, deaths = EPOCH, 0, []

    while store.tasks.backlog(now).waiting:
        tasks = store.tasks.claim("w1", 32, 60, now)
        if not tasks:
            now += LEASE
            continue
        if any(task.trace.trace_id == poison for task in tasks):
            deaths.append(len(tasks))
            continue
        assert store.tasks.complete_many([(task, (), ()) for task in tasks]) == []
        judged += len(tasks)

    assert judged == 31
    assert deaths == [32, 4, 1], "each time in smaller company"
    assert store.tasks.backlog(now).parked == 1
    store.tasks.unpark("default", now)
    (again,) = claim(store, at=now)
    assert again.trace.trace_id == poison
    assert again.attempts == 1


def test_workers_that_die_now_and_then_poison_nothing(store: Store) -> None:
    """Two losses, a try that ends well, two losses: never three in a row."""
    ingest(store, make_trace())
    now = EPOCH
    for _ in range(2):
        for _ in range(2):
            assert len(claim(store, at=now)) == 1
            now += LEASE
        (task,) = claim(store, at=now)
        store.tasks.retry(task, "judge_unavailable", now)

    assert len(claim(store, at=now)) == 1
    assert store.tasks.backlog(now).parked == 0


def test_the_reason_of_a_parked_task_is_kept(store: Store) -> None:
    ingest(store, make_trace())
    for number in range(3):
        assert len(claim(store, at=EPOCH + number * LEASE)) == 1

    assert claim(store, at=EPOCH + 3 * LEASE) == []
    (parked,) = store.tasks.parked(10)
    assert (parked.reason, parked.attempts) == (POISON, 3)
    assert store.tasks.enqueue("default", [parked.trace_id]) == 1, "a person may ask for it again"
    assert len(claim(store, at=EPOCH + 3 * LEASE)) == 1
    assert store.tasks.parked(10) == []


def test_a_trace_whose_worker_was_only_held_up_is_no_poison(store: Store) -> None:
    """Whoever finishes late was not killed by it, even when it is parked by now."""
    ingest(store, make_trace())
    (first,) = claim(store)
    for number in range(1, 4):
        claim(store, owner=f"w{number}", at=EPOCH + number * LEASE)
    assert len(store.tasks.parked(10)) == 1

    assert store.tasks.complete_many([(first, (), ())]) == [first], "too late all the same"

    assert store.tasks.parked(10) == []
    (again,) = claim(store, at=EPOCH + 3 * LEASE)
    assert store.tasks.complete_many([(again, (), ())]) == []


def test_what_is_given_back_is_anybodys_at_once_and_cost_no_try(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)

    assert store.tasks.give_back([task], EPOCH) == 1

    (again,) = claim(store, owner="w2")
    assert again.attempts == 1
    assert store.tasks.complete_many([(task, (), ())]) == [task], "the first holder's save is void"
    assert store.tasks.give_back([task], EPOCH) == 0
    assert store.tasks.complete_many([(again, (), ())]) == []


def test_leases_are_renewed_together_but_only_those_still_held(
    store: Store, clock: ManualClock
) -> None:
    ingest(store, *(make_trace(id=str(n)) for n in range(3)))
    tasks = claim(store)
    store.tasks.complete_many([(tasks[0], (), ())])

    assert store.tasks.renew_many(tasks, 60, EPOCH + LEASE / 2) == 2

    assert claim(store, owner="w2", at=EPOCH + LEASE) == []
    assert len(claim(store, owner="w2", at=EPOCH + 1.5 * LEASE)) == 2
