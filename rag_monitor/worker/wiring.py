"""The working side of a process, wired from settings and an open store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.aggregation.estimates import EstimateOptions
from rag_monitor.aggregation.memory import MemoryOptions, RollupMemory
from rag_monitor.aggregation.totals import RollupSource
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.notifiers.registry import build_all
from rag_monitor.alerting.outbox import Dispatcher
from rag_monitor.alerting.replay import Replay, replay
from rag_monitor.alerting.sources import RollupEstimates
from rag_monitor.config import Settings
from rag_monitor.domain.alert import AlertRule, Finding
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.ports import BudgetState
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.judges.factory import payers
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.self_tracing import SelfTracing
from rag_monitor.store.store import Store
from rag_monitor.worker.exporting import Roots, ScoreExport
from rag_monitor.worker.jobs import Jobs
from rag_monitor.worker.judging import create_plan
from rag_monitor.worker.leadership import FencedAlerts, Leadership
from rag_monitor.worker.lifecycle import Worker
from rag_monitor.worker.sampling_windows import SamplingWindows

_RULES: Final = EstimateOptions(min_labelled=None)


@dataclass(slots=True, kw_only=True)
class Workshop:
    """What works in this process; without a worker it only answers questions."""

    estimates: RollupEstimates
    rollups: RollupSource
    engine: AlertEngine
    plan: EvaluationPlan | None = None
    dispatcher: Dispatcher | None = None
    worker: Worker | None = None
    leadership: Leadership | None = None

    @property
    def leads(self) -> bool:
        """Whether this process aggregates, alerts and exposes."""
        return self.leadership is not None and self.leadership.leads

    @property
    def try_rule(self) -> Callable[[AlertRule], Mapping[str, Finding]]:
        """What a rule would find right now, by app."""
        return self.engine.try_rule

    def replay_rule(self, rule: AlertRule, since: datetime, until: datetime) -> Replay:
        """What a rule would have done on stored history."""

        def source_of(app: str) -> RollupEstimates:
            # One app at a time, a day of it read at once: memory stays small.
            options = MemoryOptions(kept=timedelta(days=400), ahead=timedelta(days=1))
            memory = RollupMemory(self.rollups, options, app=app)
            memory.begin(until)
            return self.estimates.reading(memory, _RULES)

        return replay(rule, self.estimates, since, until, source_of=source_of)

    async def close(self) -> None:
        """Release the judges and the channels."""
        if self.dispatcher is not None:
            await asyncio.to_thread(self.dispatcher.close)
        for judge in self.plan.judges if self.plan is not None else ():
            await judge.close()


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
    return ScoreExport(store.fresh_scores, Roots(store.spans), clock, settings.export)


def wire_workshop(
    settings: Settings, store: Store, clock: Clock, owner: str, own: SelfTracing | None = None
) -> Workshop:
    """Everything the role of this process works with; `own` takes note of what it does.

    Raises:
        UnknownJudge: There is no judge of the configured name.
        ConfigurationError: A channel or a judge cannot be set up.
    """
    budget = _budget(settings, store)
    estimates = RollupEstimates(store.rollups, store.traces, budget=budget)
    memory = RollupMemory(store.rollups)
    channels = build_all(
        settings.notifiers,
        language=settings.language,
        public_url=settings.public_url,
        timezone=settings.timezone,
    )
    leadership = Leadership(store.leases, owner, settings.worker.leader_ttl_s)
    engine = AlertEngine(
        RollupEstimates(memory, store.traces, budget=budget, options=_RULES),
        store.rules,
        FencedAlerts(store.alerts, leadership),
        clock,
        settings.alerts,
        silences=store.silences,
        channels=tuple(channels),
        before_save=leadership.require,
    )
    if settings.role not in ("all", "worker"):
        return Workshop(estimates=estimates, rollups=store.rollups, engine=engine)
    plan = create_plan(settings, store)
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
    return Workshop(
        estimates=estimates,
        rollups=store.rollups,
        engine=engine,
        plan=plan,
        dispatcher=dispatcher,
        leadership=leadership,
        worker=Worker(jobs, leadership, settings.worker, _export(settings, store, clock)),
    )
