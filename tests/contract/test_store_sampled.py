"""Tasks that wait for the sampled judge, on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.errors import LeaseLost
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import claim, ingest

DRAW = SamplingDecision(
    judge="dear", included=True, probability=0.25, reason=SamplingReason.BASE_RATE
)


def score(judge: str) -> Score:
    return Score(
        metric="faithfulness",
        status=ScoreStatus.SCORED,
        value=0.5,
        judge=JudgeIdentity(name=judge, model="m", prompts="p", calibration=""),
        created_at=EPOCH,
    )


def hand_over(store: Store, *tasks: EvaluationTask) -> None:
    done = [(task, [score("embedded")], [DRAW]) for task in tasks]
    assert store.tasks.complete_many(done, {task.id for task in tasks}) == []


def drawn(store: Store, seconds: float = 0.0, limit: int = 100) -> list[EvaluationTask]:
    at = EPOCH + timedelta(seconds=seconds)
    return store.tasks.claim("w1", limit, 60, at, sampled=True)


def judges(store: Store, task: EvaluationTask) -> set[str]:
    stored = store.traces.get("default", task.trace.trace_id)
    return {found.judge.name for found in stored.scores if found.judge is not None}


def test_scores_are_saved_and_the_task_waits_for_the_other_judge(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)

    hand_over(store, task)

    assert judges(store, task) == {"embedded"}
    assert claim(store) == [], "it is not judged by the first again"
    (later,) = drawn(store)
    assert (later.sampled, later.attempts, later.decisions) == (True, 1, (DRAW,))
    with pytest.raises(LeaseLost):
        store.tasks.complete(task, [score("late")])
    store.tasks.complete(later, [score("dear")])
    assert judges(store, task) == {"embedded", "dear"}
    assert drawn(store, 3600) == []


def test_a_dead_worker_leaves_it_in_the_same_queue(store: Store) -> None:
    ingest(store, make_trace())
    hand_over(store, *claim(store))
    (lost,) = drawn(store)

    assert claim(store, at=EPOCH + timedelta(seconds=60)) == []
    (again,) = drawn(store, 60)

    assert (again.attempts, again.decisions) == (2, (DRAW,))
    with pytest.raises(LeaseLost):
        store.tasks.complete(lost, [score("dear")])


def test_the_two_queues_are_counted_apart(store: Store) -> None:
    ingest(store, make_trace(), make_trace(id="b"))
    hand_over(store, claim(store)[0])

    backlog = store.tasks.backlog(EPOCH + timedelta(seconds=90))

    assert (backlog.waiting, backlog.sampled, backlog.sampled_age_s) == (1, 1, 90.0)
    (other,) = claim(store, at=EPOCH + timedelta(seconds=90))
    store.tasks.complete(other, [score("embedded")])
    backlog = store.tasks.backlog(EPOCH + timedelta(seconds=100))
    assert (backlog.waiting, backlog.lag_s, backlog.oldest_age_s) == (0, 0.0, 0.0)


def test_live_traces_go_before_a_backfill(store: Store) -> None:
    ingest(store, make_trace(id="old"))
    (old,) = claim(store)
    store.tasks.complete(old, [score("embedded")])
    assert store.tasks.enqueue("default", [old.trace.trace_id]) == 1
    hand_over(store, *claim(store))
    ingest(store, make_trace(id="live"))
    hand_over(store, *claim(store))

    (first,), (second,) = drawn(store, limit=1), drawn(store, limit=1)

    assert [first.forced, second.forced] == [False, True]


def test_only_what_nobody_asked_for_and_nobody_holds_grows_stale(store: Store) -> None:
    ingest(store, *(make_trace(id=str(n)) for n in range(3)))
    held, asked, live = claim(store)
    store.tasks.complete(asked, [score("embedded")])
    store.tasks.enqueue("default", [asked.trace.trace_id])
    hand_over(store, held, *claim(store))
    (holding,) = drawn(store, limit=1)
    hand_over(store, live)
    now = EPOCH + timedelta(seconds=30)

    assert store.tasks.claim_stale("w2", 10, 60, now, EPOCH) == []
    stale = store.tasks.claim_stale("w2", 10, 60, now, EPOCH + timedelta(seconds=1))

    assert holding.trace == held.trace
    assert [task.trace for task in stale] == [live.trace]


def test_a_newer_revision_is_judged_by_both_anew(store: Store) -> None:
    ingest(store, make_trace(answer="one"))
    hand_over(store, *claim(store))
    (old,) = drawn(store)
    ingest(store, make_trace(answer="two"), payload=b"v2")

    with pytest.raises(LeaseLost):
        store.tasks.complete(old, [score("dear")])

    (new,) = claim(store)
    assert (new.sampled, new.trace.answer) == (False, "two")


def test_asked_for_again_it_is_judged_by_both_anew(store: Store) -> None:
    ingest(store, make_trace())
    hand_over(store, *claim(store))

    assert store.tasks.enqueue("default", [make_trace().trace_id]) == 1

    (again,) = claim(store)
    assert (again.sampled, again.forced) == (False, True)
    assert drawn(store) == []
