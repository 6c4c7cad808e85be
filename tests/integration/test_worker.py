"""The worker's jobs over a real store: evidence in, scores, rollups and alerts out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rag_monitor import telemetry
from rag_monitor.alerting.dispatcher import Dispatcher
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.alert import Alert, AlertState, Finding, Notification, Severity
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.window import Series, Window
from rag_monitor.errors import JudgeUnavailable
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, ScriptedJudge
from rag_monitor.worker.jobs import Jobs, derive_everything
from rag_monitor.worker.scheduler import Leadership


class Recorder:
    """A channel that keeps what it was sent."""

    max_batch = 100

    def __init__(self) -> None:
        self.sent: list[Notification] = []

    def send(self, batch: Any) -> None:
        self.sent.extend(batch)


class House:
    """Store, receiver and jobs on one manual clock."""

    def __init__(
        self, url: str, judge: ScriptedJudge, fallback: ScriptedJudge | None = None
    ) -> None:
        self.clock = ManualClock()
        self.store = Store.open(
            StoreOptions(url=url, auto_migrate=True, ballast_bytes=0, partitions_ahead=1),
            self.clock,
        )
        self.store.writer.start()
        self.receiver = Receiver(self.store.writer, clock=self.clock)
        self.estimates = RuleEstimates(self.store.rollups, self.store.traces)
        self.channel = Recorder()
        engine = AlertEngine(
            self.estimates,
            self.store.rules,
            self.store.alerts,
            self.clock,
            silences=self.store.silences,
            channels=("recorder",),
        )
        self.dispatcher = Dispatcher(self.store.outbox, {"recorder": self.channel}, self.clock)
        self.jobs = Jobs(
            self.store,
            Pipeline(EvaluationPlan(baseline=judge, fallback=fallback), Sampler(), self.clock),
            engine,
            self.dispatcher,
            self.clock,
            owner="test",
            options=WorkerOptions(),
            retention=RetentionPolicy(),
        )

    def close(self) -> None:
        self.dispatcher.close()
        self.store.close()

    async def take(self, count: int, first: int = 0, **fields: Any) -> None:
        rows = [
            {
                "id": f"t-{first + n}",
                "app": "shop",
                "question": f"question {first + n}?",
                "contexts": ["a passage"],
                "answer": "an answer",
                "started_at": self.clock.now().isoformat(),
                **fields,
            }
            for n in range(count)
        ]
        await self.receiver.receive_json(json.dumps(rows).encode(), "default")

    async def work(self) -> None:
        while await self.jobs.derive_due():
            pass
        while await self.jobs.evaluate_due():
            pass
        while await self.jobs.roll_up():
            pass

    def series(self, metric: str) -> Series:
        return Series(project="default", app="shop", metric=metric, judge="combined")


@pytest.fixture
def judge() -> ScriptedJudge:
    return ScriptedJudge(dict.fromkeys(Aspect, 0.9))


@pytest.fixture
def house(database_url: str, judge: ScriptedJudge) -> Iterator[House]:
    built = House(database_url, judge)
    yield built
    built.close()


async def test_a_trace_goes_all_the_way_to_an_estimate(house: House) -> None:
    await house.take(60)
    await house.work()

    window = Window.ending(EPOCH + timedelta(minutes=1), timedelta(hours=1))
    estimate = house.estimates.estimate(house.series("faithfulness"), window)

    assert estimate.judged == 60
    assert estimate.value == pytest.approx(0.9)
    assert estimate.lower is not None
    assert estimate.upper is not None
    assert estimate.lower < 0.9 < estimate.upper


async def test_rules_rest_three_times_as_long_as_they_took(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules on a crowd of apps must not keep all else in the process waiting."""
    runs: list[float] = []

    def slow() -> int:
        runs.append(house.clock.monotonic())
        house.clock.advance(40)
        return 1

    monkeypatch.setattr(house.jobs, "_check_rules", slow)
    for _ in range(20):
        await house.jobs.check_rules()
        house.clock.advance(15)

    assert [later - earlier for earlier, later in itertools.pairwise(runs)] == [160.0] * 2


async def test_sending_twice_changes_nothing(house: House, judge: ScriptedJudge) -> None:
    await house.take(5)
    await house.work()
    await house.take(5)
    await house.work()

    assert len(judge.requests) == 5


async def test_a_judge_that_is_away_is_asked_again_and_nothing_is_lost(database_url: str) -> None:
    away = True

    def script(request: JudgeRequest) -> Judgement | Exception:
        if away:
            return JudgeUnavailable()
        return Judgement(
            identity=judge.identity, missing=dict.fromkeys(request.aspects, "no_verdict")
        )

    judge = ScriptedJudge(script)
    house = House(database_url, judge)
    try:
        await house.take(1)
        await house.work()
        assert house.store.tasks.backlog(house.clock.now()).waiting == 1

        away = False
        house.clock.advance(60)
        await house.work()
        assert house.store.tasks.backlog(house.clock.now()).waiting == 0
    finally:
        house.close()


@pytest.mark.parametrize("dead", [True, False])
async def test_the_stand_in_takes_over_from_a_backlog_not_from_a_dead_worker(
    database_url: str, *, dead: bool
) -> None:
    full, quick = ScriptedJudge(), ScriptedJudge(name="embedded-lexical")
    house = House(database_url, full, fallback=quick)
    try:
        await house.take(1)
        while await house.jobs.derive_due():
            pass
        if dead:
            assert house.store.tasks.claim("dead", 10, 60, house.clock.now())
        house.clock.advance(90)
        await house.work()
    finally:
        house.close()

    assert (len(full.requests), len(quick.requests)) == ((1, 0) if dead else (0, 1))


async def test_a_judge_that_stays_away_leaves_failed_scores_with_a_reason(
    database_url: str,
) -> None:
    house = House(database_url, ScriptedJudge(lambda _: JudgeUnavailable()))
    try:
        await house.take(1)
        for _ in range(4):
            await house.work()
            house.clock.advance(600)
        (summary,) = house.store.traces.search(_query()).items
        stored = house.store.traces.get("default", summary.trace_id)
    finally:
        house.close()

    assert {score.status for score in stored.scores} == {ScoreStatus.FAILED}
    assert {score.reason for score in stored.scores} == {"judge_unavailable"}


def _query() -> Any:
    from rag_monitor.domain.stored import TraceQuery

    return TraceQuery(project="default")


async def test_evidence_that_cannot_be_read_does_not_stop_the_others(house: House) -> None:
    await house.take(2)
    await house.take(1, first=10, contexts=None, answer=None)
    await house.work()

    assert len(house.store.traces.search(_query()).items) == 3


async def test_a_fall_in_quality_fires_is_announced_once_and_resolves(database_url: str) -> None:
    quality = {"now": 0.95}

    def script(request: JudgeRequest) -> Judgement | Exception:
        fixed = ScriptedJudge(dict.fromkeys(Aspect, quality["now"]))
        from rag_monitor.domain.judgement import Verdict

        return Judgement(
            identity=judge.identity,
            verdicts=tuple(
                Verdict(aspect=aspect, probability=quality["now"], text="x")
                for aspect in request.aspects & fixed.aspects
            ),
        )

    judge = ScriptedJudge(script)
    house = House(database_url, judge)
    try:
        number = 0
        states: list[str] = []
        for minute in range(180):
            quality["now"] = 0.95 if minute < 65 or minute >= 100 else 0.4
            await house.take(3, first=number)
            number += 3
            await house.work()
            if minute % 3 == 0:
                await house.jobs.check_rules()
                await house.jobs.deliver()
            drop = [
                alert
                for alert in house.store.alerts.load()
                if "faithfulness" in alert.rule and alert.state is not AlertState.INACTIVE
            ]
            states.append(drop[0].state.value if drop else "inactive")
            house.clock.advance(60)
        events = [
            (n.event, n.alert.app) for n in house.channel.sent if "faithfulness" in n.alert.rule
        ]
    finally:
        house.close()

    assert "firing" not in states[:65]
    assert "firing" in states[65:100]
    assert events[0] == ("firing", "shop")
    assert ("resolved", "shop") in events
    assert len([event for event, _ in events if event == "firing"]) == 1


def test_only_one_process_leads_and_the_next_takes_over(database_url: str) -> None:
    clock = ManualClock()
    with Store.open(
        StoreOptions(url=database_url, auto_migrate=True, ballast_bytes=0, partitions_ahead=1),
        clock,
    ) as store:
        first = Leadership(store.leases, "first", 30)
        second = Leadership(store.leases, "second", 30)

        assert first.hold()
        assert not second.hold()
        first.release()
        assert second.hold()
        assert not first.hold()


def test_default_rules_that_were_removed_stay_removed(house: House) -> None:
    house.jobs.ship_rules()
    shipped = house.store.rules.all("default")
    for rule in shipped:
        house.store.rules.delete("default", rule.name)
    house.jobs.ship_rules()

    assert len(shipped) >= 6
    assert house.store.rules.all("default") == []


async def test_erasing_a_user_finds_what_was_not_derived_yet(house: House) -> None:
    await house.take(1, user_id="bob")

    derive_everything(house.store, house.clock.now())
    report = house.store.traces.erase_user("default", "bob")
    await house.work()

    assert report.traces == 1
    assert house.store.traces.search(_query()).items == ()


async def test_a_stalled_derivation_does_not_overwrite_newer_evidence(house: House) -> None:
    await house.take(1)
    (stale,) = house.store.spans.due(house.clock.now())
    old = derive(stale.project, stale.blobs, stale.received_at)
    house.clock.advance(60)
    await house.take(1, answer="a better answer")
    (fresh,) = house.store.spans.due(house.clock.now() + timedelta(hours=1))
    new = derive(fresh.project, fresh.blobs, fresh.received_at)
    house.store.traces.save_derived([(fresh, new)])

    house.store.traces.save_derived([(stale, old)])

    (summary,) = house.store.traces.search(_query()).items
    assert summary.answer == "a better answer"


async def test_quiet_minutes_are_added_up_to_days_and_estimates_stay_what_they_were(
    house: House,
) -> None:
    await house.take(3)
    await house.work()
    window = Window(EPOCH - timedelta(days=1), EPOCH + timedelta(days=2))
    before = house.estimates.estimate(house.series("faithfulness"), window)
    house.clock.advance(timedelta(days=3))

    built = 0
    while count := await house.jobs.fold():
        built += count

    assert built == 3
    assert house.store.rollups.stale(house.clock.now()) == []
    assert house.estimates.estimate(house.series("faithfulness"), window) == before
    assert before.judged == 3
    assert await house.jobs.index() == 0


async def test_figures_say_what_waits_for_channels_and_when_rules_were_looked_at(
    house: House,
) -> None:
    def figure(name: str, **labels: str) -> float | None:
        return telemetry.REGISTRY.get_sample_value(name, labels)

    finding = Finding(active=True)
    alert = Alert(
        id="a1", project="default", rule="r", app="shop", state=AlertState.FIRING,
        severity=Severity.PAGE, since=EPOCH, started_at=EPOCH, finding=finding,
    )  # fmt: skip
    note = Notification(
        dedup_key="a1:firing", project="default", channel="recorder", alert=alert,
        event="firing", created_at=EPOCH + timedelta(hours=1),
    )  # fmt: skip
    gone = replace(note, channel="removed", created_at=EPOCH)
    house.store.alerts.save([alert], [note, gone])

    await house.jobs.deliver()
    waiting = figure("rag_monitor_queue_depth", queue="outbox")
    house.clock.advance(timedelta(hours=2))
    await house.jobs.deliver()
    await house.jobs.check_rules()

    assert waiting == 1
    assert figure("rag_monitor_queue_depth", queue="outbox") == 0
    assert figure("rag_monitor_queue_depth", queue="undelivered") == 1
    looked_at = figure("rag_monitor_rules_checked_timestamp_seconds")
    assert looked_at == house.clock.now().timestamp()
    house.jobs.step_down()
    assert figure("rag_monitor_queue_depth", queue="outbox") is None
    assert figure("rag_monitor_queue_depth", queue="undelivered") is None
    assert (figure("process_resident_memory_bytes") or 0) > 0
