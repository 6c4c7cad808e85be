"""The HTTP side wired from an open store and a runtime, and the snapshots behind `/metrics`."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.alerting.rules import check_rule
from rag_monitor.config import Settings
from rag_monitor.domain.alert import AlertState
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.stored import TimedTrace
from rag_monitor.domain.window import Window
from rag_monitor.errors import StoreError, StoreFull
from rag_monitor.exposition.page import MetricsPage
from rag_monitor.exposition.scrape_state import TraceCounter
from rag_monitor.exposition.snapshot import WINDOW, App, Memory, Snapshot, build
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.judges.factory import kind_of
from rag_monitor.self_tracing import SelfTracing
from rag_monitor.server.backfill import Backfill
from rag_monitor.server.readiness import HealthReport
from rag_monitor.server.services import JudgeInfo, Services
from rag_monitor.store.alerts import Alerts
from rag_monitor.store.outage import Outage, Pulse
from rag_monitor.store.rule_states import RuleStates
from rag_monitor.store.store import Store
from rag_monitor.store.traces import Traces
from rag_monitor.worker.jobs import derive_everything
from rag_monitor.worker.runtime import Runtime

MAX_QUIET: Final = 500
"""Apps without traffic in the window that keep their counter."""
QUIET_FOR: Final = timedelta(days=30)
"""Apps that have been quiet for longer are history."""
EXAMPLES: Final = 1_000
"""Newest traces of a project that may become exemplars."""
_SHOWN: Final = (AlertState.FIRING, AlertState.PENDING, AlertState.RESOLVED)


class Snapshots:
    """One after the other; what one has learned the next one knows. Not for several threads.

    Args:
        estimates: Where numbers come from.
        traces: Which apps there are, and how busy they are.
        alerts: Where alerts are kept.
        states: Where it is kept how rules stand.
        clock: Tells the present minute.
    """

    def __init__(
        self,
        estimates: Estimates,
        traces: Traces,
        alerts: Alerts,
        states: RuleStates,
        clock: Clock,
    ) -> None:
        self._estimates = estimates
        self._traces = traces
        self._alerts = alerts
        self._states = states
        self._clock = clock
        self._memory: Memory | None = None

    def build(self) -> Snapshot:
        """The snapshot of the present minute.

        Raises:
            StoreUnavailable: The database does not answer.
        """
        now = self._clock.now()
        if self._memory is None:
            self._memory = Memory(counter=TraceCounter(now - WINDOW))
        return build(
            self._estimates,
            self._apps(now),
            now,
            [alert for state in _SHOWN for alert in self._alerts.load(None, state)],
            self._states.all(),
            memory=self._memory,
            leads=True,
            recent=_Recent(self._traces, now - WINDOW),
        )

    def _apps(self, now: datetime) -> list[App]:
        """The busiest of all projects first; then quiet ones, up to a number, the newest first."""
        window = Window(now - WINDOW, now + timedelta(minutes=1))
        apps = [
            (project, one)
            for project in self._traces.projects()
            for one in self._traces.traffic(project, window)
        ]
        apps.sort(key=lambda item: (-item[1].traces, -item[1].last_seen.timestamp()))
        busy = [(project, one.app) for project, one in apps if one.traces]
        quiet = [
            (project, one.app)
            for project, one in apps
            if not one.traces and one.last_seen >= now - QUIET_FOR
        ]
        return busy + quiet[:MAX_QUIET]


class _Recent:
    """The newest traces of each app, read once per project."""

    def __init__(self, traces: Traces, since: datetime) -> None:
        self._traces = traces
        self._since = since
        self._by_project: dict[str, dict[str, list[TimedTrace]]] = {}

    def __call__(self, project: str, app: str) -> Sequence[TimedTrace]:
        """Newest first."""
        if project not in self._by_project:
            by_app: dict[str, list[TimedTrace]] = defaultdict(list)
            for trace in self._traces.newest(project, self._since, EXAMPLES):
                by_app[trace.app].append(trace)
            self._by_project[project] = by_app
        return self._by_project[project].get(app, ())


_BEHIND = timedelta(minutes=5)
_ASSEMBLY_BEHIND = timedelta(seconds=10)
"""What waits longer is missing from every page and every rule."""

logger = logging.getLogger(__name__)


def wire_services(
    settings: Settings,
    store: Store,
    runtime: Runtime,
    clock: Clock,
    own: SelfTracing | None = None,
) -> Services:
    """Everything `create_app` needs; `own` takes note of requests."""
    estimates = runtime.estimates
    pulse = Pulse(store.ping, shared=store.shared_outage)
    snapshots = Snapshots(estimates, store.traces, store.alerts, store.rule_states, clock)
    leading = runtime.leadership is not None
    metrics = MetricsPage(snapshots.build if leading else None, lambda: runtime.leads, pulse)
    unready = Outage(logger, "not ready", store.shared_outage)

    def health() -> HealthReport:
        with store.reserved():
            return _health(store, clock, unready, takes_only=settings.role == "ingest")

    return Services(
        receiver=Receiver(
            store.writer,
            settings.ingest_options,
            clock,
            reported=store.reported,
            own=own,
            ratings=store.feedback,
        ),
        spans=store.spans,
        traces=store.traces,
        sessions=store.sessions,
        earlier_turns=store.earlier_turns,
        documents=store.documents,
        inventory=store.inventory,
        topics=store.topics,
        feedback=store.feedback,
        label_queue=store.label_queue,
        rules=store.rules,
        rule_states=store.rule_states,
        alerts=store.alerts,
        silences=store.silences,
        outbox=store.outbox,
        incidents=store.incidents,
        keys=store.keys,
        audit=store.audit,
        together=store.together,
        reading=store.reading,
        reserved=store.reserved,
        estimates=estimates,
        tasks=store.tasks,
        evaluations=Backfill(
            store.traces,
            store.tasks,
            _asked_judges(settings, runtime),
            spending=store.spending,
            budget=store.budgets,
        ),
        check_rule=partial(check_rule, channels=tuple(settings.notifiers)),
        try_rule=runtime.try_rule,
        stand_rule=runtime.engine.stand_rule,
        replay_rule=runtime.replay_rule,
        metrics_text=metrics.page,
        health=health,
        background=(pulse, metrics),
        judges=_judges(runtime),
        before_erasure=lambda: derive_everything(store, clock.now()),
        spending=store.budgets.spent,
        assembling=lambda project: store.spans.assembling(clock.now(), project),
        settings=settings,
        clock=clock,
    )


def _judges(runtime: Runtime) -> Callable[[], Sequence[JudgeInfo]]:
    def judges() -> Sequence[JudgeInfo]:
        plan = runtime.plan
        if plan is None:
            return ()
        infos = []
        if plan.sampled is not None:
            infos.append(JudgeInfo(name=str(plan.sampled.identity), role="primary"))
        infos.append(
            JudgeInfo(name=str(plan.baseline.identity), role="cheap" if plan.sampled else "primary")
        )
        if plan.fallback is not None:
            infos.append(JudgeInfo(name=str(plan.fallback.identity), role="fallback"))
        return infos

    return judges


def _asked_judges(settings: Settings, runtime: Runtime) -> list[str]:
    """The judges a backfill may ask for; a process that does not judge knows them by name only."""
    running = [info.name for info in _judges(runtime)() if info.role != "fallback"]
    if running:
        return running
    return list(dict.fromkeys([kind_of(settings.judge, settings.judges), "embedded"]))


def _health(
    store: Store, clock: Clock, outage: Outage, *, takes_only: bool = False
) -> HealthReport:
    """How a process is; `takes_only`: it has nothing to do but to take traces in."""
    try:
        store.ping()
        backlog = store.tasks.backlog(clock.now())
        assembling = store.spans.assembling(clock.now())
    except StoreError as error:
        # Anybody may ask for readiness: the cause, which names the database, goes to the log only.
        outage.hit(error)
        return HealthReport(ready=False, checks={"store": "does not answer; the log has the cause"})
    checks = {"store": "ok", "assembly": "ok", "evaluation": "ok"}
    try:
        # Told unready, a process gets no traces that would show it that the outage is over.
        store.look_at_writing()
    except StoreFull as error:
        checks["ingest"] = "the disk of the database is full; what is stored can be read"
        if takes_only:
            outage.hit(error)
            return HealthReport(ready=False, checks=checks)
    except StoreError as error:
        outage.hit(error)
        checks["store"] = "takes nothing in; the log has the cause"
        return HealthReport(ready=False, checks=checks)
    outage.passed()
    if store.damage is not None:
        checks["file"] = "pages of the database are damaged; the log has the details"
    if store.writer.behind:
        checks["ingest"] = "takes nothing in until traces that wait are assembled"
    if assembling.oldest_s > _ASSEMBLY_BEHIND.total_seconds():
        checks["assembly"] = (
            f"{assembling.traces} acknowledged traces wait to be assembled, the oldest "
            f"{assembling.oldest_s:.0f} s: nothing shows them yet"
        )
    if backlog.oldest_age_s > _BEHIND.total_seconds():
        checks["evaluation"] = (
            f"{backlog.waiting} traces wait, the oldest {backlog.oldest_age_s:.0f} s"
        )
    if backlog.sampled_age_s > _BEHIND.total_seconds():
        checks["sampled_judge"] = (
            f"{backlog.sampled} drawn traces wait, the oldest {backlog.sampled_age_s:.0f} s"
        )
    return HealthReport(ready=True, checks=checks)
