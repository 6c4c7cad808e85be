"""In-memory services with the story in them."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta

from rag_monitor.alerting.replay import Replay, ReplayBounds
from rag_monitor.config import Settings
from rag_monitor.config.options import HttpOptions
from rag_monitor.domain.alert import (
    Alert,
    AlertRule,
    AlertState,
    RuleKind,
    Severity,
    Silence,
)
from rag_monitor.domain.fault import Stage
from rag_monitor.domain.incident import Incident
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.stored import (
    AppSummary,
    AppTraffic,
    Assembling,
    Backlog,
    ErasureReport,
    ParkedTask,
    ReleaseStart,
    SearchIn,
    StoredTrace,
    TracePage,
    TraceQuery,
    TraceSummary,
)
from rag_monitor.domain.trace import Trace
from rag_monitor.domain.window import Window
from rag_monitor.errors import MalformedPayload, NotFound, RuleError
from rag_monitor.server.backfill import BackfillPreview, BackfillRequest
from rag_monitor.server.readiness import HealthReport
from rag_monitor.server.services import JudgeInfo, Services
from rag_monitor.store.fault_stages import StageCounts
from rag_monitor.store.outbox import Announcement
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.alerting.fakes import FakeStates
from tests.unit.server.fake_documents import FakeDocuments, FakeInventory
from tests.unit.server.fake_estimates import FakeEstimates
from tests.unit.server.fake_feedback import FakeFeedback, FakeLabelQueue
from tests.unit.server.fake_keys import FakeAudit, FakeKeys
from tests.unit.server.fake_receiver import FakeReceiver as FakeReceiver
from tests.unit.server.fake_sessions import FakeEarlierTurns, FakeSessions
from tests.unit.server.fake_topics import FakeTopics
from tests.unit.server.story import JUDGE, story, story_alerts, story_incidents, summary_of

HTTP = {field.name for field in fields(HttpOptions)}


class FakeTraces:
    def __init__(self, stored: list[StoredTrace]) -> None:
        self.stored = {(s.trace.project, s.trace.trace_id): s for s in stored}
        self.feedback: FakeFeedback | None = None
        self.error: Exception | None = None
        self.queries: list[TraceQuery] = []
        self.asked: list[list[str]] = []
        self.erased: list[str] = []

    def get(self, project: str, trace_id: str) -> StoredTrace:
        if self.error is not None:
            raise self.error
        try:
            stored = self.stored[project, trace_id]
            said = self.feedback.of_trace(trace_id) if self.feedback else ()
            return replace(stored, feedback=(*stored.feedback, *said))
        except KeyError:
            raise NotFound(f"there is no trace {trace_id} in this project") from None

    def summaries(self, project: str, trace_ids: Sequence[str]) -> list[TraceSummary]:
        self.asked.append(list(trace_ids))
        keys = [(project, trace_id) for trace_id in trace_ids]
        return [summary_of(self.stored[key]) for key in keys if key in self.stored]

    def search(self, query: TraceQuery) -> TracePage:
        self.queries.append(query)
        if query.cursor is not None and not query.cursor.isdecimal():
            raise MalformedPayload("bad cursor")
        start = int(query.cursor or 0)
        rows = [
            summary_of(s)
            for s in sorted(self.stored.values(), key=lambda s: s.trace.started_at, reverse=True)
            if _matches(query, s)
        ]
        more = len(rows) > start + query.limit
        return TracePage(
            items=tuple(rows[start : start + query.limit]),
            next_cursor=str(start + query.limit) if more else None,
        )

    def apps(self, project: str) -> list[AppSummary]:
        found: dict[str, list[Trace]] = {}
        for owner, _ in self.stored:
            if owner == project:
                found = {}
        for stored in self.stored.values():
            if stored.trace.project == project:
                found.setdefault(stored.trace.app, []).append(stored.trace)
        return [
            AppSummary(app=app, last_seen=max(t.started_at for t in traces))
            for app, traces in sorted(found.items())
        ]

    def traffic(self, project: str, window: Window) -> list[AppTraffic]:
        apps = [s.trace.app for s in self.stored.values() if s.trace.project == project]
        found = [
            AppTraffic(app=one.app, traces=apps.count(one.app), last_seen=one.last_seen)
            for one in self.apps(project)
        ]
        return sorted(found, key=lambda one: (-one.traces, one.app))

    def last_seen(
        self, project: str, apps: Sequence[str], until: datetime, release: str | None
    ) -> dict[str, datetime]:
        return {app.app: app.last_seen for app in self.apps(project) if app.app in apps}

    def releases(self, project: str, app: str) -> list[str]:
        return ["2.1.0", "2.0.3"]

    def fault_stages(
        self, project: str, app: str, window: Window, release: str | None = None
    ) -> StageCounts:
        generation = 30 if release == "2.1.0" else 5
        return StageCounts(traces=100, by_stage={Stage.GENERATION: generation, Stage.KNOWLEDGE: 2})

    def release_starts(
        self, project: str, app: str, since: datetime | None = None
    ) -> list[ReleaseStart]:
        return [
            ReleaseStart(
                release=name,
                first_seen=EPOCH - timedelta(hours=hours),
                last_seen=EPOCH - timedelta(minutes=hours),
            )
            for name, hours in (("2.1.0", 6), ("2.0.3", 60))
        ]

    def worst(
        self,
        project: str,
        app: str,
        metric: str,
        window: Window,
        limit: int,
        knowledge_base: str | None = None,
    ) -> list[str]:
        return [s.trace.trace_id for s in self.stored.values() if s.trace.app == app][:limit]

    def erase_user(self, project: str, user_id: str) -> ErasureReport:
        self.erased.append(user_id)
        return ErasureReport(traces=2, passages=3)


def _matches(query: TraceQuery, stored: StoredTrace) -> bool:
    trace = stored.trace
    values = {s.metric: s.value for s in stored.scores}
    value = values.get(query.metric or "")
    return (
        trace.project == query.project
        and query.app in {None, trace.app}
        and query.release in {None, trace.release}
        and query.status in {None, trace.status}
        and query.user_id in {None, trace.user_id}
        and (query.q is None or query.q.lower() in _text(query, trace).lower())
        and (query.below is None or (value is not None and value < query.below))
    )


def _text(query: TraceQuery, trace: Trace) -> str:
    if query.q_in is SearchIn.PASSAGES:
        return "\n".join(one.content or "" for one in trace.contexts or ())
    return (trace.answer if query.q_in is SearchIn.ANSWER else trace.question) or ""


class FakeSpans:
    """Evidence by trace id."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[tuple[BlobFormat, bytes], ...]] = {}

    def blobs(self, project: str, trace_id: str) -> tuple[tuple[BlobFormat, bytes], ...]:
        return self.stored.get(trace_id, ()) if project == "default" else ()


class FakeRules:
    def __init__(self) -> None:
        self.rules: dict[str, AlertRule] = {}

    def all(self, project: str) -> list[AlertRule]:
        return [r for r in self.rules.values() if r.project == project]

    def save(self, rule: AlertRule) -> None:
        self.rules[rule.name] = rule

    def rename(self, name: str, rule: AlertRule) -> None:
        if rule.name in self.rules:
            raise RuleError(
                f"name: another rule is called {rule.name!r}; choose another name, or edit that one"
            )
        self.delete(rule.project, name)
        self.save(rule)

    def delete(self, project: str, name: str) -> None:
        if name not in self.rules:
            raise NotFound(f"there is no rule {name}")
        del self.rules[name]

    def ship(self, project: str, defaults: Sequence[AlertRule]) -> None:
        for rule in defaults:
            self.rules.setdefault(rule.name, rule)


class FakeAlerts:
    def __init__(self, alerts: list[Alert]) -> None:
        self.alerts = {a.id: a for a in alerts}

    def load(self, project: str, state: AlertState | None = None) -> list[Alert]:
        return [
            a for a in self.alerts.values() if a.project == project and state in {None, a.state}
        ]

    def get(self, project: str, id: str) -> Alert:
        alert = self.alerts.get(id)
        if alert is None or alert.project != project:
            raise NotFound("there is no such alert")
        return alert

    def acknowledge(self, project: str, id: str, by: str) -> None:
        alert = self.alerts.get(id)
        if alert is None or alert.project != project:
            raise NotFound("there is no such alert")
        self.alerts[id] = replace(alert, acknowledged_by=by, acknowledged_at=EPOCH)


class FakeIncidents:
    """Those of the project `default`."""

    def __init__(self, incidents: Sequence[Incident]) -> None:
        self.incidents = list(incidents)

    def newest(
        self,
        project: str,
        *,
        app: str | None = None,
        unfinished: bool | None = None,
        limit: int = 100,
    ) -> list[Incident]:
        found = [
            one
            for one in self.incidents
            if one.project == project
            and app in {None, one.app}
            and unfinished in {None, one.ended_at is None}
        ]
        return sorted(found, key=lambda one: one.began_at, reverse=True)[:limit]

    def get(self, project: str, id: str) -> Incident:
        for incident in self.newest(project):
            if incident.id == id:
                return incident
        raise NotFound("there is no such incident")


class FakeSilences:
    def __init__(self) -> None:
        self.silences: dict[str, Silence] = {}

    def all(self, project: str) -> list[Silence]:
        return [s for s in self.silences.values() if s.project == project]

    def add(self, silence: Silence) -> None:
        self.silences[silence.id] = silence

    def delete(self, project: str, id: str) -> None:
        if id not in self.silences:
            raise NotFound("there is no such silence")
        del self.silences[id]


class FakeOutbox:
    """Messages by the id of their alert."""

    def __init__(self) -> None:
        self.messages: dict[str, list[Announcement]] = {}

    def about(self, project: str, alert_id: str) -> list[Announcement]:
        return self.messages.get(alert_id, []) if project == "default" else []


class FakeTasks:
    def __init__(self) -> None:
        self.given_up: list[ParkedTask] = []

    def backlog(self, now: datetime) -> Backlog:
        return Backlog(waiting=7, oldest_age_s=2.4, parked=len(self.given_up))

    def parked(self, limit: int, project: str | None = None) -> list[ParkedTask]:
        return [one for one in self.given_up if project in {None, one.project}][:limit]

    def unpark(self, project: str, now: datetime, trace_ids: Collection[str] | None = None) -> int:
        chosen = [
            one
            for one in self.parked(len(self.given_up), project)
            if trace_ids is None or one.trace_id in trace_ids
        ]
        self.given_up = [one for one in self.given_up if one not in chosen]
        return len(chosen)


class FakeBackfill:
    def __init__(self) -> None:
        self.started: list[BackfillRequest] = []

    def preview(self, request: BackfillRequest) -> BackfillPreview:
        return BackfillPreview(traces=120, judge=request.judge or "embedded", tokens=None)

    def start(self, request: BackfillRequest) -> int:
        self.started.append(request)
        return 120


def check_rule(rule: AlertRule) -> None:
    if rule.kind is RuleKind.THRESHOLD and "limit" not in rule.params:
        raise RuleError("a threshold rule needs `params.limit`, the value that must not be crossed")


def replay_nothing(
    rule: AlertRule, since: datetime, until: datetime, bounds: ReplayBounds | None = None
) -> Replay:
    return Replay(since=since, until=until, every=timedelta(minutes=5), apps={})


def fake_metrics(
    project: str | None, open_metrics: bool, compressed: bool = False
) -> tuple[bytes, str]:
    kind = "application/openmetrics-text" if open_metrics else "text/plain; version=0.0.4"
    text = b"# HELP rag_monitor_score x\n# TYPE rag_monitor_score gauge\n"
    return gzip.compress(text) if compressed else text, f"{kind}; charset=utf-8"


def make_services(
    *, clock: ManualClock | None = None, empty: bool = False, **options: object
) -> Services:
    """Services over fakes. Keyword arguments are settings, also those of `[http]`."""
    http = {name: options.pop(name) for name in HTTP & options.keys()}
    clock = clock or ManualClock()
    stored = [] if empty else story(clock.now())
    worst = tuple(s.trace.trace_id for s in stored[:3])
    rules = FakeRules()
    if not empty:
        rules.save(
            AlertRule(
                name="faithfulness drop",
                kind=RuleKind.DROP,
                metric="faithfulness",
                params={"min_drop": 0.05},
                shipped=True,
            )
        )
        rules.save(
            AlertRule(
                name="end-to-end latency",
                kind=RuleKind.LATENCY,
                metric="end_to_end_ms",
                params={"quantile": 0.9, "limit_ms": 8000.0},
                severity=Severity.TICKET,
                shipped=True,
            )
        )
    traces = FakeTraces(stored)
    traces.feedback = feedback = FakeFeedback(empty)
    return Services(
        receiver=FakeReceiver(),
        spans=FakeSpans(),
        traces=traces,
        sessions=FakeSessions(traces.stored),
        earlier_turns=FakeEarlierTurns(traces.stored),
        topics=FakeTopics(),
        feedback=feedback,
        label_queue=FakeLabelQueue([] if empty else stored),
        rules=rules,
        rule_states=FakeStates(),
        alerts=FakeAlerts([] if empty else story_alerts(clock.now(), worst)),
        silences=FakeSilences(),
        outbox=FakeOutbox(),
        incidents=FakeIncidents([] if empty else story_incidents(clock.now(), worst)),
        keys=FakeKeys(clock),
        audit=FakeAudit(),
        estimates=FakeEstimates(clock),
        documents=FakeDocuments(),
        inventory=FakeInventory(),
        tasks=FakeTasks(),
        evaluations=FakeBackfill(),
        check_rule=check_rule,
        try_rule=lambda rule: {},
        stand_rule=lambda rule: {},
        replay_rule=replay_nothing,
        together=lambda work: work(),
        before_erasure=lambda: None,
        assembling=lambda project: Assembling(),
        spending=lambda project, since: (),
        metrics_text=fake_metrics,
        health=lambda: HealthReport(ready=True, checks={"store": "ok"}),
        judges=lambda: [
            JudgeInfo(
                name=str(JUDGE),
                role="primary",
                agreement={"auroc": 0.81, "balanced_accuracy": 0.74, "kappa": 0.46, "ece": 0.05},
            )
        ],
        settings=Settings(http=HttpOptions(**http), **options),  # type: ignore[arg-type]
        clock=clock,
    )
