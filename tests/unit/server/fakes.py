"""In-memory services with the story in them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from rag_monitor.domain.alert import (
    Alert,
    AlertRule,
    AlertState,
    RuleKind,
    Severity,
    Silence,
)
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.stored import (
    ApiKey,
    AppSummary,
    Backlog,
    ErasureReport,
    KeyScope,
    StoredTrace,
    TracePage,
    TraceQuery,
    TraceSummary,
)
from rag_monitor.domain.trace import Trace
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.errors import MalformedPayload, NotFound, RuleError
from rag_monitor.metrics.routing import Confusion
from rag_monitor.server.context import ServerOptions, Services
from rag_monitor.server.ports import BackfillPreview, BackfillRequest, HealthReport, JudgeInfo
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.server.story import JUDGE, story, story_alerts


@dataclass
class Reply:
    status: int = 200
    content_type: str = "application/x-protobuf"
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class JsonReply:
    accepted: int = 1
    trace_ids: list[str] = field(default_factory=lambda: ["a" * 32])
    unknown_fields: list[str] = field(default_factory=list)
    errors: list[object] = field(default_factory=list)


class FakeReceiver:
    def __init__(self) -> None:
        self.received: list[tuple[str, bytes, str]] = []
        self.error: Exception | None = None
        self.json_reply = JsonReply()

    async def receive_traces(
        self, body: bytes, content_type: str, content_encoding: str | None, project: str
    ) -> Reply:
        if self.error is not None:
            raise self.error
        self.received.append(("traces", body, project))
        return Reply(content_type=content_type)

    async def receive_logs(
        self, body: bytes, content_type: str, content_encoding: str | None, project: str
    ) -> Reply:
        self.received.append(("logs", body, project))
        return Reply(content_type=content_type)

    async def receive_json(self, body: bytes, project: str) -> JsonReply:
        if self.error is not None:
            raise self.error
        self.received.append(("json", body, project))
        return self.json_reply


class FakeTraces:
    def __init__(self, stored: list[StoredTrace]) -> None:
        self.stored = {(s.trace.project, s.trace.trace_id): s for s in stored}
        self.error: Exception | None = None
        self.queries: list[TraceQuery] = []
        self.erased: list[str] = []

    def get(self, project: str, trace_id: str) -> StoredTrace:
        if self.error is not None:
            raise self.error
        try:
            return self.stored[project, trace_id]
        except KeyError:
            raise NotFound(f"there is no trace {trace_id} in this project") from None

    def search(self, query: TraceQuery) -> TracePage:
        self.queries.append(query)
        if query.cursor is not None and not query.cursor.isdecimal():
            raise MalformedPayload("bad cursor")
        start = int(query.cursor or 0)
        rows = [
            _summary(s)
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
            AppSummary(app=app, traces=len(traces), last_seen=max(t.started_at for t in traces))
            for app, traces in sorted(found.items())
        ]

    def releases(self, project: str, app: str) -> list[str]:
        return ["2.1.0", "2.0.3"]

    def worst(self, project: str, app: str, metric: str, window: Window, limit: int) -> list[str]:
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
        and (query.q is None or query.q.lower() in (trace.question or "").lower())
        and (query.below is None or (value is not None and value < query.below))
    )


def _summary(stored: StoredTrace) -> TraceSummary:
    trace = stored.trace
    return TraceSummary(
        trace_id=trace.trace_id,
        app=trace.app,
        release=trace.release,
        started_at=trace.started_at,
        status=trace.status,
        question=trace.question,
        answer=trace.answer,
        end_to_end_ms=trace.timings.end_to_end_ms,
        first_byte_ms=trace.timings.first_byte_ms,
        revision=trace.revision,
        scores={s.metric: s.value for s in stored.scores},
    )


class FakeFeedback:
    def __init__(self) -> None:
        self.marks: list[Feedback] = []

    def add(self, feedback: Feedback) -> None:
        self.marks.append(feedback)


class FakeRules:
    def __init__(self) -> None:
        self.rules: dict[str, AlertRule] = {}

    def all(self, project: str) -> list[AlertRule]:
        return [r for r in self.rules.values() if r.project == project]

    def save(self, rule: AlertRule) -> None:
        self.rules[rule.name] = rule

    def delete(self, project: str, name: str) -> None:
        if name not in self.rules:
            raise NotFound(f"there is no rule {name}")
        del self.rules[name]


class FakeAlerts:
    def __init__(self, alerts: list[Alert]) -> None:
        self.alerts = {a.id: a for a in alerts}

    def load(self, project: str, state: AlertState | None = None) -> list[Alert]:
        return [
            a for a in self.alerts.values() if a.project == project and state in {None, a.state}
        ]

    def acknowledge(self, project: str, id: str, by: str) -> None:
        alert = self.alerts.get(id)
        if alert is None or alert.project != project:
            raise NotFound("there is no such alert")
        self.alerts[id] = replace(alert, acknowledged_by=by, acknowledged_at=EPOCH)


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


class FakeKeys:
    def __init__(self) -> None:
        self.keys: dict[str, ApiKey] = {}

    def create(
        self,
        project: str,
        name: str,
        scopes: Collection[KeyScope],
        *,
        expires_at: datetime | None = None,
    ) -> tuple[str, ApiKey]:
        secret = f"rm_{len(self.keys)}_secret"
        key = ApiKey(
            id=f"k{len(self.keys)}",
            project=project,
            name=name,
            scopes=frozenset(scopes),
            prefix=secret[:5],
            created_at=EPOCH,
            expires_at=expires_at,
        )
        self.keys[secret] = key
        return secret, key

    def list(self, project: str) -> list[ApiKey]:
        return [k for k in self.keys.values() if k.project == project]

    def revoke(self, project: str, id: str) -> None:
        for secret, key in self.keys.items():
            if key.id == id and key.project == project:
                self.keys[secret] = replace(key, revoked_at=EPOCH)
                return
        raise NotFound("there is no such key")

    def authenticate(self, key: str) -> ApiKey | None:
        found = self.keys.get(key)
        return None if found is None or found.revoked_at else found


@dataclass
class Latency:
    count: int
    p50: float | None
    p90: float | None
    p99: float | None
    mean: float | None
    histogram: tuple[int, ...] = ()


_LEVELS = {
    "faithfulness": 0.91,
    "answer_supported": 0.84,
    "answer_relevance": 0.88,
    "context_relevance": 0.63,
    "context_precision": 0.71,
    "context_utilization": 0.48,
    "context_recall": 0.76,
    "refusal_rate": 0.04,
}


class FakeEstimates:
    """Smooth curves; the second half of the day of `loan-assistant` is bad."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def estimate(self, series: Series, window: Window) -> Estimate:
        level = _LEVELS.get(series.metric)
        if level is None:
            return Estimate(series=series, window=window, value=None, lower=None, upper=None)
        middle = window.start + window.length / 2
        hours = (self._clock.now() - middle).total_seconds() / 3600
        value = level + 0.02 * math.sin(hours * 2.1 + len(series.metric))
        if series.app == "loan-assistant" and hours < 5 and series.metric != "refusal_rate":
            value -= 0.28 * min(1.0, (5 - hours) / 2)
        count = max(3, int(window.length.total_seconds() / 40))
        half = min(0.2, 1 / math.sqrt(count))
        return Estimate(
            series=series,
            window=window,
            value=value,
            lower=max(0.0, value - half),
            upper=min(1.0, value + half),
            traces=count,
            judged=int(count * 0.97),
            labelled=12,
            failed=int(count * 0.012),
            suspect=1,
            effective=count * 0.9,
            notes=("embedded_uncorrected",),
        )

    def series(self, series: Series, window: Window, step: timedelta) -> list[Estimate]:
        points = []
        start = window.start
        while start < window.end:
            end = min(start + step, window.end)
            points.append(self.estimate(series, Window(start, end)))
            start = end
        return points

    def latency(
        self, project: str, app: str, metric: str, window: Window, release: str | None = None
    ) -> Latency:
        scale = {"first_byte_ms": 1.0, "generation_ms": 3.2, "end_to_end_ms": 4.1}.get(metric, 0.3)
        return Latency(2160, 310 * scale, 640 * scale, 1490 * scale, 400 * scale)

    def hit_rate(
        self, project: str, app: str, kind: HitKind, name: str, basis: str, window: Window
    ) -> Estimate:
        value = 0.87 if basis == "expected" else 0.42
        return Estimate(
            series=Series(project=project, app=app, metric="hit_rate", judge=""),
            window=window,
            value=value,
            lower=value - 0.03,
            upper=value + 0.03,
            traces=2160,
        )

    def hit_names(self, project: str, app: str, window: Window) -> list[tuple[HitKind, str]]:
        return [
            (HitKind.KNOWLEDGE_BASE, "贷款知识库" if app == "loan-assistant" else "manuals"),
            (HitKind.PLUGIN, "calculator"),
            (HitKind.WORKFLOW, "escalation"),
        ]

    def routing(self, project: str, app: str, window: Window) -> list[Confusion]:
        return [Confusion(kind=HitKind.PLUGIN, name="calculator", tp=87, fp=4, tn=190, fn=13)]

    def traces(self, project: str, app: str, window: Window) -> dict[str, int]:
        return {"ok": 2117, "error": 31, "cancelled": 12}


class FakeTasks:
    def backlog(self, now: datetime) -> Backlog:
        return Backlog(waiting=7, oldest_age_s=2.4)


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


def make_services(
    *, clock: ManualClock | None = None, empty: bool = False, **options: object
) -> Services:
    """Services over fakes. Keyword arguments are `ServerOptions`."""
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
    return Services(
        receiver=FakeReceiver(),
        traces=FakeTraces(stored),
        feedback=FakeFeedback(),
        rules=rules,
        alerts=FakeAlerts([] if empty else story_alerts(clock.now(), worst)),
        silences=FakeSilences(),
        keys=FakeKeys(),
        estimates=FakeEstimates(clock),
        tasks=FakeTasks(),
        evaluations=FakeBackfill(),
        check_rule=check_rule,
        metrics_text=lambda: b"# HELP rag_monitor_score x\n# TYPE rag_monitor_score gauge\n",
        health=lambda: HealthReport(ready=True, checks={"store": "ok"}),
        judges=lambda: [
            JudgeInfo(
                name=str(JUDGE),
                role="primary",
                agreement={"auroc": 0.81, "balanced_accuracy": 0.74, "kappa": 0.46, "ece": 0.05},
            )
        ],
        options=ServerOptions(**options),  # type: ignore[arg-type]
        clock=clock,
    )
