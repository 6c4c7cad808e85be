"""The HTTP side wired from an open store and a workshop: the only place that knows both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

from rag_monitor.alerting.rules import check_rule
from rag_monitor.config import Settings
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.stored import TraceQuery
from rag_monitor.errors import StoreError, StoreFull
from rag_monitor.exposition.collector import MonitorCollector, render
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.judges.configured import kind_of
from rag_monitor.own_traces import OwnTraces
from rag_monitor.server.backfill import StoredBackfill
from rag_monitor.server.context import ServerOptions, Services
from rag_monitor.server.ports import HealthReport, JudgeInfo
from rag_monitor.server.setup import Setup
from rag_monitor.server.snapshots import Snapshots
from rag_monitor.store.outage import Outage
from rag_monitor.store.store import Store
from rag_monitor.worker.jobs import derive_everything
from rag_monitor.worker.wiring import Workshop

_EXAMPLES = 100
"""Newest traces of an app that may become exemplars."""
_BEHIND = timedelta(minutes=5)

logger = logging.getLogger(__name__)


def wire_services(
    settings: Settings,
    store: Store,
    workshop: Workshop,
    options: ServerOptions,
    clock: Clock,
    own: OwnTraces | None = None,
) -> Services:
    """Everything `create_app` needs; `own` takes note of requests."""
    estimates = workshop.estimates
    snapshots = Snapshots(
        estimates,
        apps=lambda: _apps(store),
        alerts=lambda: store.alerts.load(),
        leads=lambda: workshop.leads,
        ping=store.ping,
        clock=clock,
        recent=lambda project, app: (
            store.traces.search(TraceQuery(project=project, app=app, limit=_EXAMPLES)).items
        ),
    )

    unread, unready = Outage(logger, "no values from the database"), Outage(logger, "not ready")

    def metrics_text(project: str | None, open_metrics: bool) -> tuple[bytes, str]:
        collector = MonitorCollector(lambda: snapshots.latest().of(project), unread)
        return render(collector, open_metrics)

    return Services(
        receiver=Receiver(
            store.writer, settings.ingest_options, clock, reported=store.reported, own=own
        ),
        traces=store.traces,
        feedback=store.feedback,
        label_queue=store.label_queue,
        rules=store.rules,
        alerts=store.alerts,
        silences=store.silences,
        keys=store.keys,
        audit=store.audit,
        together=store.together,
        reading=store.reading,
        estimates=estimates,
        tasks=store.tasks,
        evaluations=StoredBackfill(
            store.traces,
            store.tasks,
            _asked_judges(settings, workshop),
            spending=store.spending,
            budget=store.budgets,
        ),
        check_rule=partial(check_rule, channels=tuple(settings.notifiers)),
        try_rule=workshop.try_rule,
        replay_rule=workshop.replay_rule,
        metrics_text=metrics_text,
        health=lambda: _health(store, clock, unready, takes_only=settings.role == "ingest"),
        judges=_judges(workshop),
        before_erasure=lambda: derive_everything(store, clock.now()),
        spending=store.budgets.spent,
        setup=_setup(settings),
        options=options,
        clock=clock,
    )


def _setup(settings: Settings) -> Setup:
    return Setup(
        judge=settings.judge,
        sampling=settings.sampling,
        retention=settings.retention,
        channels={
            name: str(options.get("kind", name)) for name, options in settings.notifiers.items()
        },
    )


def _apps(store: Store) -> list[tuple[str, str]]:
    """Every (project, app), those with most traces first."""
    found = [
        (summary.traces, project, summary.app)
        for project in store.traces.projects()
        for summary in store.traces.apps(project)
        if summary.traces
    ]
    return [(project, app) for _, project, app in sorted(found, reverse=True)]


def _judges(workshop: Workshop) -> Callable[[], Sequence[JudgeInfo]]:
    def judges() -> Sequence[JudgeInfo]:
        plan = workshop.plan
        if plan is None:
            return ()
        infos = []
        if plan.sampled is not None:
            infos.append(JudgeInfo(name=str(plan.sampled.identity), role="primary"))
        infos.append(
            JudgeInfo(name=str(plan.every.identity), role="cheap" if plan.sampled else "primary")
        )
        if plan.lagging is not None:
            infos.append(JudgeInfo(name=str(plan.lagging.identity), role="fallback"))
        return infos

    return judges


def _asked_judges(settings: Settings, workshop: Workshop) -> list[str]:
    """The judges a backfill may ask for; a process that does not judge knows them by name only."""
    running = [info.name for info in _judges(workshop)() if info.role != "fallback"]
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
    except StoreError as error:
        # Anybody may ask for readiness: the cause, which names the database, goes to the log only.
        outage.hit(error)
        return HealthReport(ready=False, checks={"store": "does not answer; the log has the cause"})
    checks = {"store": "ok", "evaluation": "ok"}
    if store.writer.refusing or store.writer.untried:
        # Told unready, a process gets no traces that would show it that the outage is over.
        try:
            store.try_writing()
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
    if backlog.oldest_age_s > _BEHIND.total_seconds():
        checks["evaluation"] = (
            f"{backlog.waiting} traces wait, the oldest {backlog.oldest_age_s:.0f} s"
        )
    if backlog.drawn_age_s > _BEHIND.total_seconds():
        checks["sampled_judge"] = (
            f"{backlog.drawn} drawn traces wait, the oldest {backlog.drawn_age_s:.0f} s"
        )
    return HealthReport(ready=True, checks=checks)
