"""Ports of alerting as a test wants them: plain values, kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from rag_monitor.aggregation.combine import BadCount, Outcomes
from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.aggregation.steps import steps
from rag_monitor.alerting.evaluator import Evaluator
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.alerting.rules import default_rules
from rag_monitor.domain.alert import (
    Alert,
    AlertRule,
    AlertState,
    Finding,
    Notification,
    RuleKind,
    Severity,
    Silence,
)
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.incident import Incident
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.domain.rule_state import RuleState, WindowChoice
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import Lease
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.statistics.wilson import wilson_interval
from rag_monitor.testing import EPOCH

APP = "bank-faq"


def rule(kind: RuleKind = RuleKind.NO_DATA, **fields: Any) -> AlertRule:
    """A rule that fires and clears at once unless told otherwise."""
    fields.setdefault("name", "the rule")
    fields.setdefault("keep_firing_s", 0.0)
    return AlertRule(kind=kind, **fields)


def hourly_rules() -> list[AlertRule]:
    """The shipped rules with windows of one hour, which Prometheus can evaluate itself."""
    return [replace(one, window_s=one.window_s or 3600.0) for one in default_rules()]


def estimate(
    value: float | None,
    judged: int = 400,
    *,
    release: str | None = None,
    min_judged: int = 50,
    notes: tuple[str, ...] = (),
    rests_on: str = "embedded/encoder/1/1",
) -> Estimate:
    """A share with its Wilson interval, withheld below `min_judged`."""
    series = Series(
        project="default", app=APP, metric="faithfulness", judge="combined", release=release
    )
    bounds = (
        None if value is None or judged < min_judged else wilson_interval(value * judged, judged)
    )
    return Estimate(
        series=series,
        window=Window.ending(EPOCH, timedelta(hours=1)),
        value=value,
        lower=None if bounds is None else bounds.lower,
        upper=None if bounds is None else bounds.upper,
        traces=judged,
        judged=judged,
        effective=float(judged),
        notes=notes,
        rests_on=rests_on,
    )


@dataclass
class FakeEstimates:
    """Answers what the test put in; functions get the window."""

    names: list[str] = field(default_factory=lambda: [APP])
    scores: Callable[[Series, Window], Estimate] = lambda series, window: estimate(0.9)
    baseline: Estimate | None = None
    release_names: list[str] = field(default_factory=list)
    outcome: Outcomes = field(default_factory=Outcomes)
    counts: Callable[[Window], BadCount] = lambda window: BadCount()
    latencies: Callable[[Window], LatencySummary] = lambda window: LatencySummary()
    hits: Callable[[str, Window], Estimate] = lambda name, window: estimate(0.9)
    hit_name_list: list[tuple[HitKind, str]] = field(default_factory=list)
    trace_counts: Callable[[str, Window], Mapping[str, int]] = lambda app, window: {"ok": 10}
    live: Callable[[str, Window], int] | None = None
    """None: ten in every step, until a day ago where nothing is sent now."""
    budget_state: BudgetState = field(default_factory=lambda: BudgetState(remaining=1.0))
    attempted: list[Window] = field(default_factory=list)

    def apps(self, project: str) -> Sequence[str]:
        return list(self.names)

    def estimate(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate:
        self.attempted.append(window)
        return self.scores(series, window)

    def judges(self, series: Series, window: Window) -> Sequence[str]:
        return []

    def releases(self, project: str, app: str, window: Window) -> Sequence[str]:
        return self.release_names

    def release_baseline(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate | None:
        return self.baseline

    def outcomes(self, series: Series, window: Window) -> Outcomes:
        return self.outcome

    def bad_count(self, series: Series, window: Window) -> BadCount:
        return self.counts(window)

    def bad_counts(
        self, series: Series, window: Window, step: timedelta
    ) -> Sequence[tuple[datetime, BadCount]]:
        found = []
        start = window.start
        while start < window.end:
            found.append((start, self.counts(Window(start, start + step))))
            start += step
        return found

    def live_by_step(self, selection: Selection, step: timedelta) -> Sequence[int]:
        parts = steps(selection.window, step)
        if self.live is not None:
            return [self.live(selection.app, part) for part in parts]
        counts = [10 for _ in parts]
        if sum(self.trace_counts(selection.app, parts[-1]).values()) == 0:
            silent = min(len(counts), timedelta(days=1) // step)
            counts[-silent:] = [0] * silent
        return counts

    def judged_by_step(self, series: Series, window: Window, step: timedelta) -> Sequence[int]:
        return [0 for _ in steps(window, step)]

    asked_by_step = judged_by_step

    def traces_by_step(
        self, selection: Selection, step: timedelta, metric: str = "traces"
    ) -> Sequence[int]:
        return [0 for _ in steps(selection.window, step)]

    def traces_in(self, selection: Selection) -> int:
        return sum(self.traces(selection).values())

    def latency(self, selection: Selection, metric: str) -> LatencySummary:
        return self.latencies(selection.window)

    def hit_rate(self, selection: Selection, kind: HitKind, name: str, basis: str) -> Estimate:
        return self.hits(name, selection.window)

    def hit_names(self, selection: Selection) -> Sequence[tuple[HitKind, str]]:
        return self.hit_name_list

    def traces(self, selection: Selection) -> Mapping[str, int]:
        return self.trace_counts(selection.app, selection.window)

    def status_share(self, selection: Selection, status: TraceStatus) -> Estimate:
        counts = self.traces(selection)
        total = sum(counts.values())
        share = counts.get(status.value, 0) / total if total else None
        return estimate(share, total, min_judged=1)

    def worst(
        self,
        project: str,
        app: str,
        metric: str,
        window: Window,
        limit: int,
        knowledge_base: str | None = None,
    ) -> Sequence[str]:
        return ["a" * 32, "b" * 32][:limit]

    def budget(self, project: str) -> BudgetState:
        return self.budget_state


@dataclass
class FakeRules:
    rules: list[AlertRule]

    def all(self, project: str | None = None) -> Sequence[AlertRule]:
        return list(self.rules)


@dataclass
class FakeSilences:
    silences: list[Silence] = field(default_factory=list)

    def all(self, project: str | None = None) -> Sequence[Silence]:
        return list(self.silences)


@dataclass
class FakeAlerts:
    """Alerts and outbox in one, as the store keeps them: known keys are not queued again."""

    alerts: dict[str, Alert] = field(default_factory=dict)
    queued: dict[tuple[str, str, str], Notification] = field(default_factory=dict)
    incidents: dict[str, Incident] = field(default_factory=dict)
    saves: int = 0

    def unfinished(self) -> Sequence[Incident]:
        return [one for one in self.incidents.values() if one.ended_at is None]

    def load(self, project: str | None = None, state: AlertState | None = None) -> Sequence[Alert]:
        return [a for a in self.alerts.values() if state is None or a.state is state]

    def save(
        self,
        changed: Sequence[Alert],
        notifications: Sequence[Notification] = (),
        *,
        incidents: Sequence[Incident] = (),
        lease: object = None,
    ) -> None:
        self.saves += 1
        self.incidents.update({incident.id: incident for incident in incidents})
        self.alerts.update({alert.id: alert for alert in changed})
        for item in notifications:
            self.queued.setdefault((item.project, item.channel, item.dedup_key), item)

    @property
    def events(self) -> list[str]:
        return [item.event for item in self.queued.values()]


@dataclass
class FakeStates:
    """States and windows as the store keeps them."""

    states: dict[tuple[str, str, str], RuleState] = field(default_factory=dict)
    choices: dict[tuple[str, str, str], WindowChoice] = field(default_factory=dict)
    saves: int = 0

    def all(self, project: str | None = None, app: str | None = None) -> list[RuleState]:
        return [
            one
            for one in self.states.values()
            if project in {None, one.project} and app in {None, one.app}
        ]

    def windows(self) -> list[WindowChoice]:
        return list(self.choices.values())

    def save(
        self,
        states: Sequence[RuleState] = (),
        windows: Sequence[WindowChoice] = (),
        *,
        gone: Sequence[tuple[str, str, str]] = (),
        lease: Lease | None = None,
    ) -> None:
        self.saves += 1
        for place in gone:
            self.states.pop(place, None)
            self.choices.pop(place, None)
        self.states.update({(one.project, one.rule, one.app): one for one in states})
        self.choices.update({(one.project, one.rule, one.app): one for one in windows})

    def fix_window(self, choice: WindowChoice) -> None:
        self.choices[choice.project, choice.rule, choice.app] = choice

    def release_window(self, project: str, rule: str, app: str) -> None:
        self.choices.pop((project, rule, app), None)


@dataclass
class FakeOutbox:
    """The queue, with what became of every message."""

    waiting: list[tuple[datetime, Notification]] = field(default_factory=list)
    delivered: list[Notification] = field(default_factory=list)
    errors: list[tuple[str, datetime]] = field(default_factory=list)
    buried: list[tuple[Notification, str]] = field(default_factory=list)

    def put(self, *notifications: Notification) -> None:
        self.waiting += [(item.created_at, item) for item in notifications]

    def due(self, now: datetime, limit: int, lease_s: float) -> Sequence[Notification]:
        ready = [(at, item) for at, item in self.waiting if at <= now][:limit]
        hidden = now + timedelta(seconds=lease_s)
        found = []
        for entry in ready:
            claimed = replace(entry[1], attempts=entry[1].attempts + 1)
            self.waiting[self.waiting.index(entry)] = (hidden, claimed)
            found.append(claimed)
        return found

    def _drop(self, notification: Notification) -> Notification:
        for entry in self.waiting:
            if (entry[1].dedup_key, entry[1].channel) == (
                notification.dedup_key,
                notification.channel,
            ):
                self.waiting.remove(entry)
                return entry[1]
        raise AssertionError("not in the outbox")

    def sent(self, notification: Notification) -> None:
        self.delivered.append(self._drop(notification))

    def failed(self, notification: Notification, error: str, not_before: datetime) -> None:
        self.errors.append((error, not_before))
        self.waiting.append((not_before, self._drop(notification)))

    def dead(self, notification: Notification, error: str) -> None:
        self.buried.append((self._drop(notification), error))


def notification(
    *,
    key: str = "a1:firing",
    channel: str = "ops",
    event: str = "firing",
    app: str = APP,
    rule_name: str = "faithfulness drop",
    **fields: Any,
) -> Notification:
    """A message about an alert with every number filled in."""
    finding = Finding(
        active=True,
        value=0.71,
        lower=0.66,
        upper=0.76,
        baseline=0.93,
        judged=212,
        baseline_judged=340,
        summary=f"faithfulness of {app} fell from 0.93 to 0.71",
        summary_zh=f"{app} 的 faithfulness 从 0.93 降到 0.71",
        worst_traces=("a" * 32, "b" * 32),
    )
    alert = Alert(
        id=key.split(":", maxsplit=1)[0],
        project="default",
        rule=rule_name,
        app=app,
        state=AlertState.RESOLVED if event == "resolved" else AlertState.FIRING,
        severity=Severity.PAGE,
        since=EPOCH,
        started_at=EPOCH,
        fired_at=EPOCH,
        finding=fields.pop("finding", finding),
    )
    return Notification(
        dedup_key=key,
        project="default",
        channel=channel,
        alert=alert,
        event=event,
        created_at=EPOCH,
        **fields,
    )


class WorstTraces:
    """The traces of one app, of which the worst are always the same."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids

    def app_names(self, project: str) -> Sequence[str]:
        return ["shop"]

    def worst(
        self,
        project: str,
        app: str,
        metric: str,
        window: Window,
        limit: int = 5,
        knowledge_base: str | None = None,
    ) -> Sequence[str]:
        return self._ids


def look(estimates: FakeEstimates, item: AlertRule, app: str = APP) -> Finding:
    """What a rule sees at the epoch."""
    return Evaluator(estimates, AlertOptions()).evaluate(item, app, EPOCH)


def latency(*counts_at: tuple[float, int]) -> LatencySummary:
    """So many traces in the bucket that ends at so many seconds."""
    histogram = [0] * (len(LATENCY_BUCKETS_S) + 1)
    for bound, count in counts_at:
        histogram[LATENCY_BUCKETS_S.index(bound)] += count
    return LatencySummary(count=sum(histogram), histogram=tuple(histogram))
