"""Tasks whose worker died or was stopped: tried again, found alone, parked, given back."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from rag_monitor.store.crash_loop import CRASH_LOOP
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import claim, ingest

LEASE = timedelta(seconds=60)
HOUR = timedelta(hours=1)


def work(store: Store, now: datetime, poison: str | None = None) -> list[int]:
    """What a worker judges in a lease that has lived for long; the sizes of what it died with.

    It dies of whatever holds the poison, and the next one begins.
    """
    deaths = []
    while True:
        suspect = store.tasks.claim_suspect("w1", 60, now)
        tasks = [suspect] if suspect is not None else store.tasks.claim("w1", 32, 60, now)
        if not tasks:
            return deaths
        if any(task.trace.trace_id == poison for task in tasks):
            deaths.append(len(tasks))
            continue
        assert store.tasks.complete_many([(task, (), ()) for task in tasks]) == []


def parked(store: Store) -> list[str]:
    return [task.trace_id for task in store.tasks.parked(100)]


def test_a_trace_that_kills_its_workers_is_parked_and_its_neighbours_are_judged(
    store: Store,
) -> None:
    traces = [make_trace(id=str(n)) for n in range(32)]
    poison = traces[7].trace_id
    ingest(store, *traces)
    now, deaths = EPOCH, []

    while store.tasks.backlog(now).waiting:
        deaths += work(store, now, poison)
        now += LEASE

    assert deaths == [32, 4, 1, 1, 1], "each time in smaller company, at last alone"
    assert parked(store) == [poison], "and nobody else"
    assert len(scoreless(store)) == 1
    store.tasks.unpark("default", now)
    (again,) = claim(store, at=now)
    assert again.trace.trace_id == poison
    assert again.attempts == 1


def test_parked_traces_are_listed_and_retried_by_project_and_by_name(store: Store) -> None:
    ingest(store, *(make_trace(id=str(n)) for n in range(3)))
    ingest(store, make_trace(id="4", project="team-b"))
    for task in claim(store):
        store.tasks.park(task, "unsavable")
    mine = [task.trace_id for task in store.tasks.parked(10, "default")]
    (other,) = store.tasks.parked(10, "team-b")

    assert len(mine) == 3
    assert store.tasks.unpark("default", EPOCH, [mine[0], other.trace_id]) == 1
    assert [task.trace_id for task in store.tasks.parked(10, "default")] == mine[1:]
    assert store.tasks.unpark("default", EPOCH) == 2
    assert store.tasks.parked(10) == [other], "another project's"
    assert {task.trace.trace_id for task in claim(store)} == set(mine)


def test_a_parked_trace_says_when_it_is_tried_again_if_it_is(store: Store) -> None:
    now = dead(store)
    ingest(store, make_trace(id="2"))
    (task,) = claim(store, at=now)
    store.tasks.park(task, "unsavable")

    unsavable, poison = store.tasks.parked(10)

    assert (unsavable.reason, unsavable.again_at) == ("unsavable", None)
    assert poison.again_at == now + HOUR


def test_frequent_restarts_park_nothing_and_everything_is_judged(store: Store) -> None:
    """Workers that are killed whatever they have in hand, several batches at a time."""
    ingest(store, *(make_trace(id=str(n)) for n in range(100)))
    now, draw = EPOCH, random.Random(3)
    for life in range(60):
        for _ in range(4):  # lanes, all of which are lost together
            tasks = store.tasks.claim(f"w{life}", 8, 60, now)
            if tasks and draw.random() < 0.3:
                store.tasks.complete_many([(task, (), ()) for task in tasks])
        now += LEASE
        if draw.random() < 0.2:  # one that lives for a while, and dies with a suspect in hand
            store.tasks.claim_suspect(f"w{life}", 60, now)
            now += LEASE
    assert parked(store) == []

    assert work(store, now) == []
    assert store.tasks.backlog(now).waiting == 0
    assert scoreless(store) == []


def test_suspects_are_left_alone_by_workers_that_have_just_begun(store: Store) -> None:
    ingest(store, make_trace())
    for number in range(2):
        assert len(claim(store, at=EPOCH + number * LEASE)) == 1

    assert claim(store, at=EPOCH + 2 * LEASE) == []
    suspect = store.tasks.claim_suspect("w", 60, EPOCH + 2 * LEASE)

    assert suspect is not None
    assert store.tasks.claim_suspect("w", 60, EPOCH + 2 * LEASE) is None
    assert store.tasks.complete_many([(suspect, (), ())]) == []


def test_what_is_parked_is_tried_again_alone_and_ever_more_seldom(store: Store) -> None:
    now = dead(store)
    assert store.tasks.claim_suspect("w", 60, now + HOUR / 2) is None

    assert store.tasks.claim_suspect("w", 60, now + HOUR) is not None, "and this worker dies, too"
    now += HOUR + LEASE
    assert store.tasks.claim_suspect("w", 60, now) is None
    assert len(parked(store)) == 1
    assert store.tasks.claim_suspect("w", 60, now + 2 * HOUR - LEASE) is None
    suspect = store.tasks.claim_suspect("w", 60, now + 2 * HOUR)

    assert suspect is not None, "it may have been innocent"
    assert store.tasks.complete_many([(suspect, (), ())]) == []
    assert parked(store) == []


def test_what_was_parked_for_another_reason_stays_parked(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)
    store.tasks.park(task, "unsavable")

    assert store.tasks.claim_suspect("w", 60, EPOCH + 48 * HOUR) is None
    assert len(parked(store)) == 1


def test_workers_that_die_now_and_then_poison_nothing(store: Store) -> None:
    """A loss, a try that ends well, a loss: never several in a row."""
    ingest(store, make_trace())
    now = EPOCH
    for _ in range(4):
        assert len(claim(store, at=now)) == 1
        now += LEASE
        (task,) = claim(store, at=now)
        store.tasks.retry(task, "judge_unavailable", now)

    assert len(claim(store, at=now)) == 1
    assert store.tasks.backlog(now).parked == 0


def test_the_reason_of_a_parked_task_is_kept(store: Store) -> None:
    now = dead(store)

    (task,) = store.tasks.parked(10)
    assert (task.reason, task.attempts) == (CRASH_LOOP, 5)
    assert store.tasks.enqueue("default", [task.trace_id]) == 1, "a person may ask for it again"
    assert len(claim(store, at=now)) == 1
    assert store.tasks.parked(10) == []


def test_a_trace_whose_worker_was_only_held_up_is_no_poison(store: Store) -> None:
    """Whoever finishes late was not killed by it, even when it is parked by now."""
    ingest(store, make_trace())
    (first,) = claim(store)
    now = dead(store, made=1)
    assert len(store.tasks.parked(10)) == 1

    assert store.tasks.complete_many([(first, (), ())]) == [first], "too late all the same"

    assert store.tasks.parked(10) == []
    (again,) = claim(store, at=now + HOUR)
    assert store.tasks.complete_many([(again, (), ())]) == []


def dead(store: Store, made: int = 0) -> datetime:
    """Let every worker die that takes the one trace there is, until it is parked."""
    if not made:
        ingest(store, make_trace())
    now = EPOCH + made * LEASE
    for _ in range(made, 2):
        assert len(claim(store, at=now)) == 1
        now += LEASE
    for _ in range(3):
        assert store.tasks.claim_suspect("w", 60, now) is not None
        now += LEASE
    assert store.tasks.claim_suspect("w", 60, now) is None
    return now


def scoreless(store: Store) -> list[str]:
    """Traces that are still to be judged, parked ones among them."""
    backlog = store.tasks.backlog(EPOCH)
    return parked(store) + ["waiting"] * backlog.waiting


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
