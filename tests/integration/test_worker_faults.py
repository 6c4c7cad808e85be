"""Workers that are stopped, and databases that go away in the middle of a batch."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.alerting.dispatcher import Dispatcher
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.judgement import Judgement, JudgeRequest
from rag_monitor.domain.stored import PendingTrace, RetentionPolicy
from rag_monitor.errors import StoreUnavailable
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, ScriptedJudge, make_trace
from rag_monitor.worker import evaluating
from rag_monitor.worker.jobs import Jobs
from rag_monitor.worker.scheduler import Scheduler
from tests.chaos.clock import WallClock
from tests.chaos.fleet import ROOT
from tests.contract.evidence import claim, ingest


class HeldJudge(ScriptedJudge):
    """Answers when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        self.asked.set()
        await self.go.wait()
        return await super().judge_many(requests)


class Workplace:
    """The jobs of one worker over a real store."""

    def __init__(self, url: str, judge: ScriptedJudge) -> None:
        self.clock = ManualClock()
        self.store = Store.open(
            StoreOptions(url=url, auto_migrate=True, ballast_bytes=0, partitions_ahead=1),
            self.clock,
        )
        self.store.writer.start()
        engine = AlertEngine(
            RuleEstimates(self.store.rollups, self.store.traces),
            self.store.rules,
            self.store.alerts,
            self.clock,
        )
        self.jobs = Jobs(
            self.store,
            Pipeline(EvaluationPlan(baseline=judge), Sampler(), self.clock),
            engine,
            Dispatcher(self.store.outbox, {}, self.clock),
            self.clock,
            owner="w1",
            options=WorkerOptions(),
            retention=RetentionPolicy(),
        )


@pytest.fixture
def workplace(database_url: str) -> Iterator[Workplace]:
    made = Workplace(database_url, HeldJudge())
    yield made
    made.store.close()


async def _asked(place: Workplace) -> tuple[HeldJudge, asyncio.Task[int]]:
    judge: Any = place.jobs._pipeline.plan.baseline
    task = asyncio.create_task(place.jobs.evaluate_due())
    await asyncio.wait_for(judge.asked.wait(), 20)
    return judge, task


async def test_a_worker_stopped_in_the_middle_gives_its_tasks_back(workplace: Workplace) -> None:
    await asyncio.to_thread(ingest, workplace.store, make_trace())
    schedule = Scheduler()
    judge: Any = workplace.jobs._pipeline.plan.baseline
    schedule.every(0.05, "evaluate", workplace.jobs.evaluate_due, drain=True)
    schedule.start()
    await asyncio.wait_for(judge.asked.wait(), 20)

    assert not await schedule.stop(drain_s=0.2), "it outlasted the drain"

    (task,) = await asyncio.to_thread(claim, workplace.store, owner="w2")
    assert task.attempts == 1, "nobody waits for the lease, and no try is lost"


async def test_a_batch_in_hand_is_finished_within_the_drain_time(workplace: Workplace) -> None:
    await asyncio.to_thread(ingest, workplace.store, make_trace())
    schedule = Scheduler()
    judge: Any = workplace.jobs._pipeline.plan.baseline
    schedule.every(0.05, "evaluate", workplace.jobs.evaluate_due, drain=True)
    schedule.start()
    await asyncio.wait_for(judge.asked.wait(), 20)

    stopping = asyncio.create_task(schedule.stop(drain_s=30))
    await asyncio.sleep(0)
    judge.go.set()

    assert await stopping
    assert workplace.store.tasks.backlog(EPOCH).waiting == 0


async def test_what_was_judged_is_saved_once_the_database_is_back(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge was paid: an outage must not have it asked again."""
    monkeypatch.setattr(evaluating, "_SAVE_AGAIN_S", 0.01)
    await asyncio.to_thread(ingest, workplace.store, make_trace())
    judge, working = await _asked(workplace)
    complete, failures = workplace.store.tasks.complete_many, []

    def away(done: Any, drawn: Any, diagnoses: Any) -> Any:
        if len(failures) < 3:
            failures.append(len(done))
            raise StoreUnavailable("the database restarts")
        return complete(done, drawn, diagnoses)

    monkeypatch.setattr(workplace.store.tasks, "complete_many", away)
    judge.go.set()

    assert await asyncio.wait_for(working, 30) == 1
    assert failures == [1, 1, 1]
    assert len(judge.requests) == 1
    assert workplace.store.tasks.backlog(EPOCH).waiting == 0


async def test_an_outage_longer_than_the_lease_leaves_the_task_to_others(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "_SAVE_AGAIN_S", 0.01)
    await asyncio.to_thread(ingest, workplace.store, make_trace())
    judge, working = await _asked(workplace)

    def away(*_: Any) -> Any:
        workplace.clock.advance(30)
        raise StoreUnavailable("the database is away")

    monkeypatch.setattr(workplace.store.tasks, "complete_many", away)
    judge.go.set()

    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(working, 30)
    assert len(claim(workplace.store, owner="w2", at=workplace.clock.now())) == 1


async def test_a_job_has_as_many_runs_under_way_as_it_has_lanes() -> None:
    schedule, go = Scheduler(), asyncio.Event()
    seen = []

    async def work() -> int:
        seen.append(1)
        await go.wait()
        return 0

    schedule.every(0.02, "work", work, lanes=3)
    schedule.start()
    for _ in range(500):
        if len(seen) == 3:
            break
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    under_way = len(seen)
    go.set()

    assert await schedule.stop(drain_s=20)
    assert under_way == 3


async def test_a_leader_rests_after_a_minute_that_was_dear_to_add_up(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recomputed as often as it changes, a busy minute would leave time for nothing else."""
    await asyncio.to_thread(ingest, workplace.store, make_trace())
    facts = workplace.store.rollups.facts

    def slow(dirty: Any) -> Any:
        workplace.clock.advance(5)
        return facts(dirty)

    monkeypatch.setattr(workplace.store.rollups, "facts", slow)
    assert await workplace.jobs.roll_up() == 1
    await asyncio.to_thread(ingest, workplace.store, make_trace(id="2"))

    assert await workplace.jobs.roll_up() == 0
    workplace.clock.advance(14)
    assert await workplace.jobs.roll_up() == 0
    workplace.clock.advance(1)
    assert await workplace.jobs.roll_up() == 1


async def test_adding_up_rests_much_longer_while_traces_wait_to_be_assembled(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backlog lies in few minutes: each time all of it that is assembled is read again."""
    clock, jobs, facts = workplace.clock, workplace.jobs, workplace.store.rollups.facts

    def slow(dirty: Any) -> Any:
        clock.advance(5)
        return facts(dirty)

    async def fall_behind() -> None:
        nothing = PendingTrace(
            project="default", trace_id="x", received_at=clock.now(), blobs=(), version=1
        )
        pending = [nothing] * WorkerOptions().derive_batch
        with monkeypatch.context() as patch:
            patch.setattr(workplace.store.spans, "due", lambda now, limit: pending)
            await jobs.derive_due()

    monkeypatch.setattr(workplace.store.rollups, "facts", slow)
    await asyncio.to_thread(ingest, workplace.store, make_trace())
    await fall_behind()
    clock.advance(60)
    assert await jobs.roll_up() == 1
    await asyncio.to_thread(ingest, workplace.store, make_trace(id="2"))

    clock.advance(95)
    assert await jobs.roll_up() == 0, "20 times as long at rest as at work"
    clock.advance(5)
    assert await jobs.roll_up() == 1
    await asyncio.to_thread(ingest, workplace.store, make_trace(id="3"))
    clock.advance(20)
    assert await jobs.roll_up() == 0
    await jobs.derive_due()
    assert await jobs.roll_up() == 1, "once nothing waits, the rest is as short as ever"


async def test_a_clock_set_ahead_for_a_moment_costs_no_data(workplace: Workplace) -> None:
    clock, jobs = workplace.clock, workplace.jobs
    await asyncio.to_thread(ingest, workplace.store, make_trace())
    right = clock.now()

    clock.set(right + timedelta(days=500))
    assert await jobs.retain() == 0
    clock.set(right + timedelta(seconds=20))
    assert await jobs.retain() == 0
    assert workplace.store.traces.projects()

    clock.set(right + timedelta(days=500))
    assert await jobs.retain() == 0
    clock.advance(20)
    assert await jobs.retain() == 0, "jobs are planned anew whenever the clock is set"
    clock.advance(workplace.jobs._options.retention_every_s)
    assert await jobs.retain() > 0, "it is the time"


_TICKING = """
import asyncio, sys, time
from rag_monitor.worker.scheduler import Scheduler

async def main():
    schedule = Scheduler()
    async def tick():
        print(time.time(), flush=True)
        return 0
    schedule.every(0.3, "tick", tick)
    schedule.start()
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("shift", [-3600, 40 * 365 * 86_400], ids=["an hour back", "40 years on"])
def test_a_wall_clock_that_is_set_stops_no_job(tmp_path: Path, shift: int) -> None:
    clock = WallClock(tmp_path / "clock")
    if not clock.environment:
        pytest.skip("needs a C compiler for the clock")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **clock.environment}
    process = subprocess.Popen(
        [sys.executable, "-c", _TICKING], stdout=subprocess.PIPE, text=True, env=environment
    )
    # A loop that stands still prints nothing: the end of the process ends the reading.
    impatience = threading.Timer(30, process.kill)
    impatience.start()
    try:
        assert process.stdout is not None
        before = float(process.stdout.readline())
        clock.shift(shift)
        ticks = iter(process.stdout.readline, "")
        assert any(abs(float(tick) - before) > 3000 for tick in ticks), "no job runs any more"
    finally:
        impatience.cancel()
        process.kill()
        process.communicate()
