"""Leases on work, scores and rollups, on each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import Aspect, JudgeIdentity, JudgeUsage, Verdict
from rag_monitor.domain.rollup import Rollup, RollupKey, RollupQuery
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.window import Window
from rag_monitor.errors import LeaseLost
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, make_trace
from tests.contract.evidence import claim, ingest

JUDGE = JudgeIdentity(name="embedded", model="m", prompts="p", calibration="1")
MINUTE = timedelta(minutes=1)


def _score(value: float = 0.5, metric: str = "faithfulness") -> Score:
    return Score(
        metric=metric,
        status=ScoreStatus.SCORED,
        value=value,
        judge=JUDGE,
        flagged=False,
        created_at=EPOCH,
        verdicts=(Verdict(aspect=Aspect.SUPPORT, probability=value, text="支持", evidence=0),),
    )


def _decision(probability: float = 0.25) -> SamplingDecision:
    return SamplingDecision(
        judge="embedded",
        included=True,
        probability=probability,
        reason=SamplingReason.BASE_RATE,
        stratum="s",
        salt="x",
    )


def test_scores_and_decisions_come_back_with_their_trace(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)

    store.tasks.complete(task, [_score()], [_decision()])

    stored = store.traces.get("default", task.trace.trace_id)
    assert stored.scores == (_score(),)
    assert stored.decisions == (_decision(),)
    assert store.tasks.backlog(EPOCH).waiting == 0


def test_a_claimed_trace_is_whole(store: Store) -> None:
    trace = make_trace("问", "答", ("一", "二"), hits=(Hit(kind=HitKind.PLUGIN, name="p"),))
    ingest(store, trace)

    (task,) = claim(store)

    assert task.trace == trace
    assert task.attempts == 1


def test_a_leased_task_is_nobody_elses_until_its_lease_runs_out(store: Store) -> None:
    ingest(store, make_trace())
    (first,) = claim(store)

    assert claim(store, owner="w2", at=EPOCH + timedelta(seconds=59)) == []
    (second,) = claim(store, owner="w2", at=EPOCH + timedelta(seconds=60))

    assert second.attempts == 2
    with pytest.raises(LeaseLost):
        store.tasks.complete(first, [_score(0.1)], [])
    store.tasks.complete(second, [_score(0.9)], [])
    (score,) = store.traces.get("default", first.trace.trace_id).scores
    assert score.value == 0.9
    with pytest.raises(LeaseLost):
        store.tasks.complete(second, [_score(0.2)], [])


def test_completing_many_saves_the_rest_when_one_lease_is_lost(store: Store) -> None:
    ingest(store, *(make_trace(id=str(n)) for n in range(3)))
    tasks = list(claim(store))
    store.tasks.complete(tasks[1], [_score(0.7)], [])

    lost = store.tasks.complete_many([(task, [_score(0.1)], []) for task in tasks])

    assert lost == [tasks[1]]
    values = [store.traces.get("default", task.trace.trace_id).scores[0].value for task in tasks]
    assert values == [0.1, 0.7, 0.1]


def test_a_newer_revision_takes_the_task_away_from_who_holds_it(store: Store) -> None:
    ingest(store, make_trace(answer="one"))
    (old,) = claim(store)
    ingest(store, make_trace(answer="two"), payload=b"v2")

    with pytest.raises(LeaseLost):
        store.tasks.complete(old, [_score()], [])

    (new,) = claim(store)
    assert new.trace.answer == "two"
    assert store.traces.get("default", new.trace.trace_id).scores == ()


def test_workers_that_claim_at_once_never_share_a_task(store: Store) -> None:
    ingest(store, *(make_trace(id=str(n)) for n in range(60)))

    def work(name: str) -> list[int]:
        mine: list[int] = []
        while tasks := store.tasks.claim(name, 5, 60, EPOCH):
            mine += [task.id for task in tasks]
            store.tasks.complete_many([(task, [_score()], []) for task in tasks])
        return mine

    with ThreadPoolExecutor(4) as pool:
        done = [id_ for part in pool.map(work, "abcd") for id_ in part]

    assert len(done) == len(set(done)) == 60
    assert store.tasks.backlog(EPOCH).waiting == 0


def test_a_retried_task_waits_and_a_parked_one_stays(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)
    store.tasks.retry(task, "judge_timeout", EPOCH + timedelta(seconds=30))

    assert claim(store, at=EPOCH + timedelta(seconds=29)) == []
    (again,) = claim(store, at=EPOCH + timedelta(seconds=30))
    store.tasks.park(again, "poison")

    assert claim(store, at=EPOCH + timedelta(days=1)) == []
    assert (store.tasks.backlog(EPOCH).waiting, store.tasks.backlog(EPOCH).parked) == (0, 1)
    assert store.tasks.unpark("default", EPOCH) == 1
    assert len(claim(store)) == 1


def test_the_backlog_knows_its_oldest(store: Store) -> None:
    assert store.tasks.backlog(EPOCH).oldest_age_s == 0
    ingest(store, make_trace())

    backlog = store.tasks.backlog(EPOCH + timedelta(seconds=90))

    assert (backlog.waiting, backlog.oldest_age_s) == (1, 90)
    assert backlog.lag_s == 90


def test_judging_is_behind_by_what_nobody_has_taken_yet(store: Store) -> None:
    def behind(seconds: float) -> float:
        return store.tasks.backlog(EPOCH + timedelta(seconds=seconds)).lag_s

    ingest(store, make_trace())
    (held,) = claim(store)
    assert behind(50) == 0, "a worker holds it"
    assert behind(120) == 0, "its worker died"

    store.tasks.give_back([held], EPOCH + timedelta(seconds=120))
    assert behind(150) == 30, "it waits for anybody again"

    (again,) = claim(store, at=EPOCH + timedelta(seconds=150))
    store.tasks.retry(again, "judge_timeout", EPOCH + timedelta(seconds=160))
    assert behind(200) == 0, "the judge was away"

    (last,) = claim(store, at=EPOCH + timedelta(seconds=200))
    store.tasks.park(last, "poison")
    store.tasks.unpark("default", EPOCH + timedelta(seconds=300))
    assert behind(300) == 0, "it waits since now"


def test_a_person_may_ask_for_a_trace_to_be_judged_again(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)
    store.tasks.complete(task, [_score(0.1)], [])

    assert store.tasks.enqueue("default", [task.trace.trace_id, "0" * 32]) == 1

    (forced,) = claim(store)
    assert forced.forced
    store.tasks.complete(forced, [_score(0.8)], [])
    (score,) = store.traces.get("default", task.trace.trace_id).scores
    assert score.value == 0.8


def test_a_task_for_one_judge_stays_for_it_through_retries_and_lost_workers(store: Store) -> None:
    ingest(store, make_trace())
    (task,) = claim(store)
    store.tasks.complete(task, [_score()], [])
    store.tasks.enqueue("default", [task.trace.trace_id], "packed")

    (first,) = claim(store)
    store.tasks.retry(first, "judge_timeout", EPOCH)
    (second,) = claim(store)
    (third,) = store.tasks.claim("other", 8, 60, EPOCH + timedelta(hours=2))

    assert [item.judge for item in (first, second, third)] == ["packed"] * 3


def test_a_trace_that_waits_for_all_judges_is_not_kept_from_them(store: Store) -> None:
    ingest(store, make_trace(), make_trace(id="asked twice"))
    (waiting, judged) = claim(store)
    store.tasks.complete(judged, [_score()], [])
    ids = [waiting.trace.trace_id, judged.trace.trace_id]

    store.tasks.enqueue("default", ids, "packed")
    store.tasks.enqueue("default", ids[1:], "packed")

    assert {task.trace.trace_id: task.judge for task in claim(store)} == dict(
        zip(ids, (None, "packed"), strict=True)
    )
    store.tasks.enqueue("default", ids[1:], "embedded")
    assert {task.judge for task in claim(store)} == {None}


def test_what_judging_costs_is_measured_from_ledger_and_scores(store: Store) -> None:
    assert store.spending.measured("default", JUDGE.name) is None
    ingest(store, make_trace(), make_trace(id="b"))
    for task in claim(store):
        store.tasks.complete(task, [_score(), _score(metric="context_relevance")], [])
    spent = JudgeUsage(input_tokens=2_000, output_tokens=1_001, cost=0.5)
    held = store.budgets.reserve("default", JUDGE.name, JudgeUsage())
    assert held is not None
    store.budgets.settle(held, spent)

    measured = store.spending.measured("default", JUDGE.name)

    assert measured is not None
    assert measured.traces == 2
    assert measured.of(10) == JudgeUsage(input_tokens=15_005, cost=2.5)
    assert store.spending.measured("default", "embed") is None


def _rollup(count: int = 3, **key: str) -> Rollup:
    name = {"project": "default", "app": "test-app", "metric": "faithfulness", **key}
    return Rollup(
        key=RollupKey(minute=EPOCH, **name),
        count=count,
        total=1.5,
        squares=0.75,
        bad=1,
        failed=2,
        not_applicable=3,
        suspect=4,
        histogram=(1, 2),
        weight=6.0,
        weighted_total=3.0,
        weight_squares=12.0,
        weighted_squares=1.5,
        moments={"xy": 0.25},
    )


def test_facts_hold_what_rollups_need(store: Store) -> None:
    hit = Hit(kind=HitKind.PLUGIN, name="p")
    ingest(store, make_trace(hits=(hit,), release="r", started_at=EPOCH + timedelta(seconds=59)))
    (task,) = claim(store)
    store.tasks.complete(task, [_score()], [_decision(0.25)])

    (dirty,) = store.rollups.changed()
    (facts,) = store.rollups.facts([dirty])

    assert (dirty.app, dirty.minute) == ("test-app", EPOCH)
    assert (facts.trace.hits, facts.trace.release) == ((hit,), "r")
    assert facts.trace.timings == task.trace.timings
    assert [(score.metric, score.value, score.judge) for score in facts.scores] == [
        ("faithfulness", 0.5, JUDGE)
    ]
    assert facts.probabilities == {"embedded": 0.25}


def test_replacing_clears_the_mark_and_reading_gives_the_same_back(store: Store) -> None:
    ingest(store, make_trace())
    found = [_rollup(), _rollup(judge="j"), _rollup(release="r"), _rollup(dimension="d")]

    store.rollups.replace(store.rollups.changed(), [_rollup(1), _rollup(metric="gone")])
    store.rollups.replace([*store.rollups.changed()], found)
    assert store.rollups.changed() == []
    ingest(store, make_trace(id="2"))
    store.rollups.replace(store.rollups.changed(), found)

    window = Window(EPOCH, EPOCH + MINUTE)
    loaded = store.rollups.load(RollupQuery(project="default", window=window))
    assert {str(item) for item in loaded} == {str(item) for item in found}
    assert store.rollups.load(RollupQuery(project="default", window=window, judge="j")) == [
        found[1]
    ]
    assert store.rollups.load(
        RollupQuery(project="default", window=window, app="test-app", release="r")
    ) == [found[2]]
    assert store.rollups.load(RollupQuery(project="default", window=window, metric="other")) == []
    assert store.rollups.load(RollupQuery(project="other", window=window)) == []
    assert (
        store.rollups.load(
            RollupQuery(project="default", window=Window(EPOCH + MINUTE, EPOCH + 2 * MINUTE))
        )
        == []
    )


def test_a_minute_that_changed_meanwhile_stays_dirty(store: Store) -> None:
    ingest(store, make_trace())
    dirty = store.rollups.changed()
    (task,) = claim(store)
    store.tasks.complete(task, [_score()], [])

    store.rollups.replace(dirty, [_rollup()])

    (still,) = store.rollups.changed()
    assert still.version != dirty[0].version


def test_a_trace_that_moves_to_another_minute_leaves_both_dirty(store: Store) -> None:
    ingest(store, make_trace())
    store.rollups.replace(store.rollups.changed(), [])

    ingest(store, make_trace(started_at=EPOCH + MINUTE), payload=b"v2")

    assert {item.minute for item in store.rollups.changed()} == {EPOCH, EPOCH + MINUTE}
