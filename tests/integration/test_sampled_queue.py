"""A sampled judge that is down, slow or back again, over a real store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from rag_monitor import telemetry
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.stored import Backlog
from rag_monitor.errors import JudgeBehind, JudgeRefused, JudgeUnavailable
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.sampling.options import SamplingOptions
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock, ScriptedJudge, make_trace
from rag_monitor.worker.evaluating import Evaluation
from rag_monitor.worker.fault_finding import FaultFinder
from rag_monitor.worker.sampled_queue import SampledQueue
from rag_monitor.worker.scheduler import Scheduler
from tests.contract.evidence import ingest

OPTIONS = WorkerOptions(sampled_batch=4)


class Remote(ScriptedJudge):
    """A judge on a server that does what the test says; it can also keep its callers waiting."""

    def __init__(self) -> None:
        super().__init__(self._answer, name="dear")
        self.error: Exception | None = None
        self.batches: list[int] = []
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.go.set()

    def _answer(self, request: JudgeRequest) -> Judgement | Exception:
        if self.error is not None:
            return self.error
        return Judgement(identity=self.identity, missing=dict.fromkeys(request.aspects, "none"))

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        self.batches.append(len(requests))
        self.asked.set()
        await self.go.wait()
        return await super().judge_many(requests)


class House:
    """What evaluates in one worker."""

    def __init__(self, store: Store, clock: ManualClock, judge: Remote) -> None:
        self.store, self.clock = store, clock
        cheap = ScriptedJudge(dict.fromkeys(Aspect, 0.9), name="embedded")
        plan = EvaluationPlan(baseline=cheap, sampled=judge)
        pipeline = Pipeline(plan, Sampler(SamplingOptions(rate=1.0)), clock)
        self.evaluation = Evaluation(
            store.tasks,
            pipeline,
            clock,
            OPTIONS,
            FaultFinder(store.earlier_passages, clock),
            store.earlier_turns,
        )
        self.drawn = SampledQueue(store.tasks, pipeline, clock, self.evaluation, "w1", OPTIONS)

    async def take(self, count: int, first: int = 0) -> None:
        """Traces that the judge of every trace has seen."""
        found = [make_trace(id=str(n)) for n in range(first, first + count)]
        await asyncio.to_thread(ingest, self.store, *found)
        await self.evaluation.run(self.store.tasks.claim("w1", 1000, 60, self.clock.now()))

    @property
    def backlog(self) -> Backlog:
        return self.store.tasks.backlog(self.clock.now())

    def scores(self, number: int) -> dict[str, set[tuple[ScoreStatus, str | None]]]:
        stored = self.store.traces.get("default", make_trace(id=str(number)).trace_id)
        found: dict[str, set[tuple[ScoreStatus, str | None]]] = {}
        for score in stored.scores:
            name = score.judge.name if score.judge is not None else ""
            found.setdefault(name, set()).add((score.status, score.reason))
        return found


@pytest.fixture
def judge() -> Remote:
    return Remote()


@pytest.fixture
def another(database_url: str, judge: Remote) -> Iterator[Callable[[], House]]:
    """Workers on one database and clock; each call is one more."""
    clock = ManualClock()
    store = Store.open(
        StoreOptions(url=database_url, auto_migrate=True, ballast_bytes=0, partitions_ahead=1),
        clock,
    )
    store.writer.start()
    yield lambda: House(store, clock, judge)
    store.close()


@pytest.fixture
def house(another: Callable[[], House]) -> House:
    return another()


def away() -> float:
    found: float = telemetry.JUDGE_AWAY.labels(judge="dear")._value.get()
    return found


async def test_scores_are_there_while_the_sampled_judge_hangs(house: House, judge: Remote) -> None:
    judge.go.clear()
    await house.take(4)
    hanging = asyncio.create_task(house.drawn.judge_due())
    await asyncio.wait_for(judge.asked.wait(), 20)

    await asyncio.wait_for(house.take(40, first=10), 20)

    assert house.backlog.waiting == 0
    assert house.backlog.lag_s == 0
    assert all("embedded" in house.scores(n) for n in (*range(4), *range(10, 50)))
    judge.go.set()
    assert await asyncio.wait_for(hanging, 20) == 4
    assert set(house.scores(0)) == {"embedded", "dear"}


async def test_while_nobody_answers_one_trace_at_a_time_is_tried(
    house: House, judge: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await house.take(12)
    judge.error = JudgeUnavailable()
    assert await house.drawn.judge_due() == 4
    assert (await house.drawn.judge_due(), away()) == (0, 1)

    for _ in range(3):
        house.clock.advance(15)
        assert await asyncio.gather(*(house.drawn.judge_due() for _ in range(2))) == [1, 0]
    assert judge.batches == [4, 1, 1, 1]

    judge.error = None
    house.clock.advance(15)
    assert await house.drawn.judge_due() == 1
    while await house.drawn.judge_due():
        pass
    house.clock.advance(60)
    while await house.drawn.judge_due():
        pass

    assert (house.backlog.sampled, away()) == (0, 0)
    assert all("dear" in house.scores(n) for n in range(12))
    told = [r.message for r in caplog.records if "dear" in r.message]
    assert len(told) == 2
    assert "does not answer (judge_unavailable)" in told[0]
    assert "answers again after 60 s" in told[1]


async def test_a_trace_is_tried_as_often_as_ever_and_then_has_failed(
    house: House, judge: Remote
) -> None:
    await house.take(1)
    judge.error = JudgeUnavailable()
    for _ in range(3):
        assert await house.drawn.judge_due() == 1
        house.clock.advance(60)

    assert house.backlog.sampled == 0
    assert house.scores(0)["dear"] == {(ScoreStatus.FAILED, "judge_unavailable")}
    assert {status for status, _ in house.scores(0)["embedded"]} != {ScoreStatus.FAILED}


@pytest.mark.parametrize(
    ("error", "reason"),
    [(None, "judge_behind"), (JudgeRefused("answered 401: no such key"), "judge_refused")],
)
async def test_what_has_waited_too_long_is_given_up_and_says_why(
    house: House, judge: Remote, error: Exception | None, reason: str
) -> None:
    counted = telemetry.DROPPED.labels(stage="evaluation", reason="judge_behind")._value.get
    before = counted()
    await house.take(6)
    judge.error = error
    assert await house.drawn.judge_due() == 4
    house.clock.advance(OPTIONS.sampled_wait_s)
    assert await house.drawn.shed_due() == 0
    house.clock.advance(1)

    given_up = await house.drawn.shed_due()

    assert given_up == (2 if error is None else 6)
    assert counted() - before == given_up
    assert house.scores(5)["dear"] == {(ScoreStatus.FAILED, reason)}
    stored = house.store.traces.get("default", make_trace(id="5").trace_id)
    details = {s.detail for s in stored.scores if s.judge is not None and s.judge.name == "dear"}
    assert details == {str(error or JudgeBehind())}
    assert "embedded" in house.scores(5)
    assert house.backlog.sampled == 0


async def test_a_stopped_worker_hands_it_to_the_next_which_asks_once(
    another: Callable[[], House], judge: Remote
) -> None:
    house, judge.go = another(), asyncio.Event()
    await house.take(3)
    schedule = Scheduler()
    schedule.every(0.05, "judge_drawn", house.drawn.judge_due, drain=True)
    schedule.start()
    await asyncio.wait_for(judge.asked.wait(), 20)
    assert not await schedule.stop(drain_s=0.2), "it outlasted the drain"
    judge.go.set()

    assert await another().drawn.judge_due() == 3

    assert len(judge.requests) == 3, "no cheap judge either: the scores of that one are saved"
    assert all(set(house.scores(n)) == {"embedded", "dear"} for n in range(3))


async def test_a_judge_that_no_one_configures_any_more_leaves_nothing_behind(
    house: House, another: Callable[[], House]
) -> None:
    await house.take(3)
    plain: Any = another()
    plain.drawn._pipeline.plan = EvaluationPlan(baseline=plain.drawn._pipeline.plan.baseline)
    plain.drawn._circuit = None

    assert await plain.drawn.judge_due() == 3

    assert house.backlog.sampled == 0
    assert set(house.scores(0)) == {"embedded"}
