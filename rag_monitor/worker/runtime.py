"""The working side of a process: wired from settings and an open store, started and drained."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.aggregation.rollup_cache import RollupCache, RollupCacheOptions
from rag_monitor.aggregation.totals import RollupSource
from rag_monitor.alerting.dispatcher import Dispatcher
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.estimates import RULE_OPTIONS, RuleEstimates
from rag_monitor.alerting.incidents.teller import IncidentTeller
from rag_monitor.alerting.notifiers.registry import build_all
from rag_monitor.alerting.replay import UNHURRIED, Replay, ReplayBounds, replay
from rag_monitor.config import Settings
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.alert import AlertRule, Finding
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.ports import BudgetState
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.judges.factory import payers
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.self_tracing import SelfTracing
from rag_monitor.store.outage import SharedOutage
from rag_monitor.store.store import Store
from rag_monitor.worker.exporting import Roots, ScoreExport
from rag_monitor.worker.jobs import Jobs
from rag_monitor.worker.judging import create_plan
from rag_monitor.worker.sampling_windows import SamplingWindows
from rag_monitor.worker.scheduler import Job, Leadership, Scheduler
from rag_monitor.worker.session_judging import SessionJudging, create_session_judging
from rag_monitor.worker.topic_finding import EVERY_S as TOPICS_EVERY_S
from rag_monitor.worker.topic_finding import TopicFinder

_log = logging.getLogger(__name__)

_HOLD_EVERY_S: Final = 30.0
"""How often reservations in the budget are renewed, well before they run out."""
_SHED_EVERY_S: Final = 5.0
"""How often the queue is searched for sampled traces that have waited too long."""
_RELEASE_S: Final = 1.0
"""How long a database may take to hear that this process leads no longer."""


class Worker:
    """Derives and evaluates whenever there is work; aggregates and alerts while it leads."""

    def __init__(
        self,
        jobs: Jobs,
        leadership: Leadership,
        options: WorkerOptions,
        export: ScoreExport | None = None,
        shared_outage: SharedOutage | None = None,
        topics: TopicFinder | None = None,
        sessions: SessionJudging | None = None,
    ) -> None:
        self._export = export
        self._sessions = sessions
        self._topics = topics
        self._jobs = jobs
        self._leadership = leadership
        self._options = options
        self._scheduler = Scheduler(shared_outage)

    async def start(self) -> None:
        """Begin working in the running event loop."""
        jobs, options = self._jobs, self._options
        await self._lead()
        if self._leadership.leads:
            # Before the first request: rules a person puts in must not meet defaults later.
            await asyncio.to_thread(jobs.ship_rules)
            if self._export is not None:
                await self._export.begin()
        schedule = self._scheduler
        schedule.every(options.leader_ttl_s / 3, "lead", self._lead)
        lanes = options.evaluate_lanes
        schedule.every(options.rules_every_s, "sampling", jobs.begin_sampling_window)
        schedule.every(options.poll_s, "evaluate", jobs.evaluate_due, drain=True, lanes=lanes)
        sampled_lanes = options.sampled_lanes
        schedule.every(
            options.poll_s, "judge_drawn", jobs.judge_sampled, drain=True, lanes=sampled_lanes
        )
        schedule.every(_SHED_EVERY_S, "shed_drawn", jobs.shed_sampled, drain=True)
        schedule.every(_HOLD_EVERY_S, "hold_budget", jobs.hold_budget)
        lanes = options.derive_lanes or jobs.derive_lanes
        schedule.every(options.poll_s, "derive", jobs.derive_due, drain=True, lanes=lanes)
        schedule.every(options.poll_s, "judge_suspect", jobs.judge_suspect, drain=True)
        # Of the leader's jobs at most one of each kind runs: more threads at once would only take
        # the interpreter from each other, and from those who serve requests.
        figures, upkeep = asyncio.Lock(), asyncio.Lock()
        roll_up, count_sessions = self._led(jobs.roll_up), self._led(jobs.count_sessions)
        schedule.every(options.poll_s, "roll_up", roll_up, drain=True, turn=figures)
        fold_every_s, retention_s = options.fold_every_s, options.retention_every_s
        schedule.every(fold_every_s, "fold", self._led(jobs.fold), drain=True, turn=figures)
        schedule.every(fold_every_s, "sessions", count_sessions, drain=True, turn=figures)
        rules = self._led(jobs.check_rules)
        schedule.every(options.rules_every_s, "rules", rules, turn=figures)
        count = self._led(jobs.count_documents)
        schedule.every(fold_every_s, "documents", count, drain=True, turn=upkeep)
        schedule.every(fold_every_s, "index", self._led(jobs.index), drain=True, turn=upkeep)
        fold = self._led(jobs.fold_documents)
        schedule.every(retention_s, "fold_documents", fold, drain=True, turn=upkeep)
        schedule.every(retention_s, "retain", self._led(jobs.retain), turn=upkeep)
        schedule.every(fold_every_s, "mend_times", self._led(jobs.repair_times))
        schedule.every(options.deliver_every_s, "deliver", self._led(jobs.deliver), drain=True)
        if self._sessions is not None:
            judge = self._led(self._sessions.judge_due)
            schedule.every(options.fold_every_s, "judge_sessions", judge, drain=True)
        if self._topics is not None:
            find = self._led(self._topics.find_due)
            schedule.every(TOPICS_EVERY_S, "topics", find, drain=True, turn=upkeep)
        if self._export is not None:
            every = self._export.every_s
            schedule.every(every, "export", self._led(self._export.send_due), drain=True)
        schedule.start()

    async def stop(self) -> None:
        """Finish what is in hand, within the drain time, and step down."""
        if not await self._scheduler.stop(self._options.drain_s):
            _log.warning("work outlasted the drain time; its leases will run out")
        with contextlib.suppress(TimeoutError):  # its lease runs out by itself
            await asyncio.wait_for(asyncio.to_thread(self._leadership.release), _RELEASE_S)

    async def _lead(self) -> int:
        led = self._leadership.leads
        leads = await asyncio.to_thread(self._leadership.hold)
        if leads and not led:
            self._jobs.take_over()
        elif led and not leads:
            self._jobs.step_down()
        return int(leads)

    def _led(self, job: Job) -> Job:
        async def run() -> int:
            return await job() if self._leadership.leads else 0

        return run


@dataclass(slots=True, kw_only=True)
class Runtime:
    """What works in this process; without a worker it only answers questions."""

    estimates: RuleEstimates
    rollups: RollupSource
    engine: AlertEngine
    plan: EvaluationPlan | None = None
    dispatcher: Dispatcher | None = None
    worker: Worker | None = None
    leadership: Leadership | None = None
    sessions: SessionJudging | None = None

    @property
    def leads(self) -> bool:
        """Whether this process aggregates, alerts and exposes."""
        return self.leadership is not None and self.leadership.leads

    @property
    def try_rule(self) -> Callable[[AlertRule], Mapping[str, Finding]]:
        """What a rule would find right now, by app."""
        return self.engine.try_rule

    def replay_rule(
        self,
        rule: AlertRule,
        since: datetime,
        until: datetime,
        bounds: ReplayBounds = UNHURRIED,
    ) -> Replay:
        """What a rule would have done on stored history, within the bounds."""
        ends = time.monotonic() + bounds.within_s

        def source_of(app: str) -> RuleEstimates:
            # One app at a time, a day of it read at once: memory stays small.
            options = RollupCacheOptions(kept=timedelta(days=400), ahead=timedelta(days=1))
            memory = RollupCache(self.rollups, options, app=app)
            memory.begin(until)
            return self.estimates.reading(memory, RULE_OPTIONS)

        def stop() -> bool:
            return time.monotonic() >= ends

        return replay(
            rule,
            self.estimates,
            since,
            until,
            source_of=source_of,
            max_looks=bounds.looks,
            stop=stop,
        )

    async def close(self) -> None:
        """Release the judges and the channels."""
        if self.dispatcher is not None:
            await asyncio.to_thread(self.dispatcher.close)
        for judge in self.plan.judges if self.plan is not None else ():
            await judge.close()
        if self.sessions is not None:
            await self.sessions.close()


def _budget(settings: Settings, store: Store) -> Callable[[str], BudgetState] | None:
    paying = payers(settings.judge, settings.judges)
    if not paying:
        return None  # nothing that a budget limits

    def tightest(project: str) -> BudgetState:
        states = [store.budgets.state(project, kind) for kind in paying]
        return min(states, key=lambda state: state.remaining)

    return tightest


def _export(settings: Settings, store: Store, clock: Clock) -> ScoreExport | None:
    if settings.export.endpoint is None:
        return None
    return ScoreExport(store.score_export_feed, Roots(store.spans), clock, settings.export)


def build_runtime(
    settings: Settings, store: Store, clock: Clock, owner: str, own: SelfTracing | None = None
) -> Runtime:
    """Everything the role of this process works with; `own` takes note of what it does.

    Raises:
        UnknownJudge: There is no judge of the configured name.
        ConfigurationError: A channel or a judge cannot be set up.
    """
    budget = _budget(settings, store)
    estimates = RuleEstimates(store.rollups, store.traces, budget=budget)
    memory = RollupCache(store.rollups)
    channels = build_all(
        settings.notifiers,
        language=settings.language,
        public_url=settings.public_url,
        timezone=settings.timezone,
    )
    leadership = Leadership(store.leases, owner, settings.worker.leader_ttl_s)
    engine = AlertEngine(
        RuleEstimates(memory, store.traces, budget=budget, options=RULE_OPTIONS),
        store.rules,
        store.alerts,
        clock,
        settings.alerts,
        silences=store.silences,
        channels=tuple(channels),
        incidents=IncidentTeller(store.incidents, store.incident_traces, settings.alerts),
        states=store.rule_states,
        before_save=leadership.require,
    )
    if settings.role not in ("all", "worker"):
        return Runtime(estimates=estimates, rollups=store.rollups, engine=engine)
    plan = create_plan(settings, store)
    sessions = create_session_judging(settings, store, clock)
    dispatcher = Dispatcher(store.outbox, channels, clock)
    sampler = Sampler(settings.sampling)
    sampling = SamplingWindows(sampler, store.rollups, store.traces, clock, budget)
    jobs = Jobs(
        store,
        Pipeline(plan, sampler, clock, own),
        engine,
        dispatcher,
        clock,
        owner=owner,
        options=settings.worker,
        retention=settings.retention,
        memory=memory,
        sampling=sampling if plan.sampled is not None else None,
        own=own,
    )
    return Runtime(
        estimates=estimates,
        rollups=store.rollups,
        engine=engine,
        plan=plan,
        dispatcher=dispatcher,
        leadership=leadership,
        sessions=sessions,
        worker=Worker(
            jobs,
            leadership,
            settings.worker,
            _export(settings, store, clock),
            store.shared_outage,
            TopicFinder(store.topic_feed, clock, leadership.require),
            sessions,
        ),
    )
