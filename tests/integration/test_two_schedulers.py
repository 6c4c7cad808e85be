"""Two schedulers on one PostgreSQL, ten minutes: one freezes in mid-save, the other is killed."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

import pytest

from rag_monitor.aggregation.rollup_cache import RollupCache
from rag_monitor.alerting.dispatcher import Dispatcher
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.options import DeliveryOptions
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Notification, RuleKind
from rag_monitor.domain.incident import Incident
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Verdict
from rag_monitor.domain.stored import Lease, RetentionPolicy
from rag_monitor.errors import LeaseLost
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.alerts import Alerts
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock, ScriptedJudge
from rag_monitor.worker.jobs import Jobs
from rag_monitor.worker.scheduler import Leadership
from tests.postgresql import database

TICK_S = 15.0
TICKS = 40
LEASE_S = 8.0  # of real time: a tick on a busy machine must not outlast it
RULE = AlertRule(
    name="low",
    kind=RuleKind.THRESHOLD,
    metric="faithfulness",
    window_s=60.0,
    keep_firing_s=0.0,
    repeat_s=60.0,
    min_judged=8,
    params={"below": 0.8},
)


class Recorder:
    """A channel that keeps what it was sent."""

    max_batch = 100

    def __init__(self) -> None:
        self.sent: list[Notification] = []

    def send(self, batch: Sequence[Notification]) -> None:
        self.sent.extend(batch)


class Freezer:
    """Saves like any other, until it is told to hang right before."""

    def __init__(self, alerts: Alerts) -> None:
        self._alerts = alerts
        self.load = alerts.load
        self.saves: list[datetime] = []
        self.refused = 0
        self.frozen = threading.Event()
        self._freeze = False
        self._thaw = threading.Event()

    def freeze_at_next_save(self) -> None:
        self._freeze = True

    def thaw(self) -> None:
        self._thaw.set()

    def save(
        self,
        changed: Sequence[Alert],
        notifications: Sequence[Notification] = (),
        *,
        incidents: Sequence[Incident] = (),
        lease: Lease | None = None,
    ) -> None:
        if self._freeze:
            self._freeze = False
            self.frozen.set()
            assert self._thaw.wait(60)
        try:
            self._alerts.save(changed, notifications, incidents=incidents, lease=lease)
        except LeaseLost:
            self.refused += 1
            raise


class Scheduler:
    """One process: a store of its own, the jobs, and its idea of who leads."""

    def __init__(self, name: str, url: str, clock: ManualClock, channel: Recorder) -> None:
        self.clock = clock
        self.store = Store.open(
            StoreOptions(url=url, auto_migrate=True, ballast_bytes=0, partitions_ahead=1), clock
        )
        self.store.writer.start()
        self.leadership = Leadership(self.store.leases, name, LEASE_S)
        self.alerts = Freezer(self.store.alerts)
        memory = RollupCache(self.store.rollups)
        self.evaluated: list[datetime] = []
        engine = AlertEngine(
            RuleEstimates(memory, self.store.traces),
            self.store.rules,
            self.alerts,
            clock,
            channels=("recorder",),
            before_save=self.leadership.require,
        )
        self.dispatcher = Dispatcher(
            self.store.outbox,
            {"recorder": channel},
            clock,
            DeliveryOptions(lease_s=30.0, round_s=10.0),
        )
        judge = ScriptedJudge(_answer)
        self.jobs = Jobs(
            self.store,
            Pipeline(EvaluationPlan(baseline=judge), Sampler(), clock),
            engine,
            self.dispatcher,
            clock,
            owner=name,
            options=WorkerOptions(),
            retention=RetentionPolicy(),
            memory=memory,
        )

    async def lead(self) -> bool:
        led = self.leadership.leads
        leads = await asyncio.to_thread(self.leadership.hold)
        if leads and not led:
            self.jobs.take_over()
        return leads

    async def tick(self, *, keeps: str = "") -> None:
        """What the scheduler does every few seconds.

        Args:
            keeps: State of an alert after which nothing is delivered any more.
        """
        while await self.jobs.derive_due():
            pass
        while await self.jobs.evaluate_due():
            pass
        if not await self.lead():
            return
        while await self.jobs.roll_up():
            pass
        refused, now = self.alerts.refused, self.clock.now()
        await self.jobs.check_rules()
        if self.alerts.refused == refused:
            self.evaluated.append(now)
        if not keeps or not self.store.alerts.load("default", AlertState(keeps)):
            await self.jobs.deliver()

    async def freezes_or_ends(self, task: asyncio.Task[None]) -> None:
        """Wait until a tick hangs in its save, or is over."""
        hangs = asyncio.create_task(asyncio.to_thread(self._frozen, task))
        await asyncio.wait([task, hangs], return_when=asyncio.FIRST_COMPLETED)
        await hangs

    def _frozen(self, task: asyncio.Task[None]) -> None:
        while not task.done() and not self.alerts.frozen.wait(0.02):
            pass

    def close(self) -> None:
        self.alerts.thaw()
        self.dispatcher.close()
        self.store.close()


def _answer(request: JudgeRequest) -> Judgement:
    good = "good" in request.question
    verdict = Verdict(aspect=Aspect.SUPPORT, probability=0.98 if good else 0.02, text="x")
    return Judgement(identity=ScriptedJudge().identity, verdicts=(verdict,))


@pytest.fixture
def url(postgresql_template: str) -> Iterator[str]:
    with database(postgresql_template) as found:
        yield found


async def _take_over(scheduler: Scheduler) -> None:
    deadline = time.monotonic() + 20
    while not await scheduler.lead():
        assert time.monotonic() < deadline, "the lease never ran out"
        await asyncio.sleep(0.05)


async def _send(scheduler: Scheduler, tick: int, *, good: bool) -> None:
    now = scheduler.clock.now().isoformat()
    rows = [
        {
            "id": f"{tick}-{n}",
            "app": "shop",
            "question": f"{'good' if good else 'bad'} question {n}?",
            "contexts": ["a passage"],
            "answer": "an answer",
            "started_at": now,
        }
        for n in range(12)
    ]
    receiver = Receiver(scheduler.store.writer, clock=scheduler.clock)
    await receiver.receive_json(json.dumps(rows).encode(), "default")


@pytest.mark.slow
@pytest.mark.postgresql
async def test_windows_are_evaluated_once_and_messages_survive_a_freeze_and_a_kill(
    url: str,
) -> None:
    clock, channel = ManualClock(), Recorder()
    first, second = (Scheduler(name, url, clock, channel) for name in ("first", "second"))
    hung: asyncio.Task[None] | None = None
    killed = False
    try:
        first.store.rules.save(RULE)
        await _take_over(first)
        for tick in range(TICKS):
            # Bad from tick 10 to tick 25; the alert fires and resolves in between.
            await _send(first, tick, good=not 10 <= tick < 26)
            if tick == 10:
                first.alerts.freeze_at_next_save()
            if hung is None:
                task = asyncio.create_task(first.tick())
                await first.freezes_or_ends(task)
                if first.alerts.frozen.is_set():
                    hung = task
                    await _take_over(second)
                else:
                    await task
            if not killed:
                await second.tick(keeps="resolved")
            if _resolved(second) and not killed:
                # Killed after it claimed the message and before it sent it.
                claimed = second.store.outbox.due(clock.now(), 100, 30.0)
                assert [item.event for item in claimed] == ["resolved"]
                killed = True
                await _take_over(first)
            elif killed:
                await first.lead()
                await first.tick()
            if tick == 18:
                assert hung is not None
                first.alerts.thaw()
                await hung
            clock.advance(TICK_S)
        rows = first.store.outbox.waiting()
        states = [alert.state for alert in first.store.alerts.load()]
    finally:
        first.close()
        second.close()

    assert killed
    assert first.alerts.refused == 1
    evaluated = Counter(first.evaluated + second.evaluated)
    assert len(evaluated) == TICKS
    assert set(evaluated.values()) == {1}
    assert rows == 0
    assert states == [AlertState.RESOLVED]
    events = Counter(item.event for item in channel.sent)
    assert events["firing"] == events["resolved"] == 1
    assert events["repeat"] >= 2
    told = {(item.alert.id, item.event, item.created_at): item.dedup_key for item in channel.sent}
    assert len(set(told.values())) == len(told) == len({i.dedup_key for i in channel.sent})


def _resolved(scheduler: Scheduler) -> bool:
    return bool(scheduler.store.alerts.load("default", AlertState.RESOLVED))
