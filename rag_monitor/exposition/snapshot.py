"""A Snapshot: everything a scrape shows that comes from the database.

Built by the leader at its leisure, so that a scrape never waits for the database. What it costs is
bounded before anything is asked: the busiest apps are read, many in one query, until the series or
the time are used up; of the others only their number is shown.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor import telemetry
from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.prometheus_labels import app_label, safe_label
from rag_monitor.domain.alert import Alert, AlertState
from rag_monitor.domain.fault import Fault, fault_metric
from rag_monitor.domain.rollup import LATENCY_BUCKETS_S, TRACES_METRIC
from rag_monitor.domain.rule_state import RuleState, Verdict
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.domain.stored import TimedTrace
from rag_monitor.domain.window import Series, Window
from rag_monitor.exposition.points import (
    AlertPoint,
    Examples,
    FaultPoint,
    HitPoint,
    LatencyPoint,
    RuleStatePoint,
    ScorePoint,
    SessionPoint,
    TracesPoint,
    examples_of,
)
from rag_monitor.exposition.scrape_state import ReleaseOrder, TraceCounter

WINDOW: Final = timedelta(hours=1)
NAMED_RELEASES: Final = 5
"""The newest releases that keep their name; the rest is `other`."""
OTHER_RELEASE: Final = "other"
MAX_SERIES: Final = 20_000
MAX_ALERTS: Final = 5_000
"""Series of alerts, those that fire first; the rest of `MAX_SERIES` is for the apps."""
MAX_RULE_STATES: Final = 5_000
"""Series of rules, at most a quarter of what alerts leave; those that are in order last."""
BUDGET_S: Final = 10.0
"""Apps that were not read after so many seconds are folded."""
LATENCIES: Final = {
    "first_byte_ms": "rag_monitor_first_byte_seconds",
    "generation_ms": "rag_monitor_generation_seconds",
    "end_to_end_ms": "rag_monitor_end_to_end_seconds",
}
"""Metric of the rollups to name in Prometheus."""
_SERIES_PER_HISTOGRAM: Final = len(LATENCY_BUCKETS_S) + 3
_TOGETHER: Final = 25
"""Apps that are read with the same queries."""
_TOO_LARGE: Final = 10
"""So many apps may be too large for what is left before no further one is tried."""
_SHOWN_FIRST: Final = (AlertState.FIRING, AlertState.PENDING, AlertState.RESOLVED)
_STATES_FIRST: Final = (
    Verdict.FIRING,
    Verdict.PENDING,
    Verdict.CANNOT_TELL,
    Verdict.OK,
    Verdict.IDLE,
)

App = tuple[str, str]
"""Project and app."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Label values are already safe; no two points of a kind share their labels."""

    leads: bool = False
    """Whether the process that took it leads."""
    scores: tuple[ScorePoint, ...] = ()
    faults: tuple[FaultPoint, ...] = ()
    sessions: tuple[SessionPoint, ...] = ()
    latencies: tuple[LatencyPoint, ...] = ()
    hits: tuple[HitPoint, ...] = ()
    traces: tuple[TracesPoint, ...] = ()
    alerts: tuple[AlertPoint, ...] = ()
    rule_states: tuple[RuleStatePoint, ...] = ()
    apps_folded: Mapping[str, int] = field(default_factory=dict)
    """By project, the apps that have no series of their own."""

    @property
    def series(self) -> int:
        """How many time series this makes at most."""
        return (
            4 * len(self.scores)
            + 4 * len(self.faults)
            + 4 * len(self.sessions)
            + _SERIES_PER_HISTOGRAM * len(self.latencies)
            + 4 * len(self.hits)
            + len(self.traces)
            + len(self.alerts)
            + len(self.rule_states)
        )

    @property
    def projects(self) -> set[str]:
        """Those that have a series."""
        kinds = (
            *(self.scores, self.faults, self.sessions, self.latencies),
            *(self.hits, self.traces, self.alerts, self.rule_states),
        )
        return {point.project for kind in kinds for point in kind}

    def of(self, project: str) -> Snapshot:
        """Only what belongs to a project."""
        return replace(
            self,
            scores=tuple(point for point in self.scores if point.project == project),
            faults=tuple(point for point in self.faults if point.project == project),
            sessions=tuple(point for point in self.sessions if point.project == project),
            latencies=tuple(point for point in self.latencies if point.project == project),
            hits=tuple(point for point in self.hits if point.project == project),
            traces=tuple(point for point in self.traces if point.project == project),
            alerts=tuple(point for point in self.alerts if point.project == project),
            rule_states=tuple(point for point in self.rule_states if point.project == project),
            apps_folded={
                name: count for name, count in self.apps_folded.items() if name == project
            },
        )


def together(parts: Iterable[Snapshot]) -> Snapshot:
    """All of them as one; what is no point is that of the first."""
    all_parts = list(parts)
    return replace(
        all_parts[0],
        scores=tuple(point for part in all_parts for point in part.scores),
        faults=tuple(point for part in all_parts for point in part.faults),
        sessions=tuple(point for part in all_parts for point in part.sessions),
        latencies=tuple(point for part in all_parts for point in part.latencies),
        hits=tuple(point for part in all_parts for point in part.hits),
        traces=tuple(point for part in all_parts for point in part.traces),
        alerts=tuple(point for part in all_parts for point in part.alerts),
        rule_states=tuple(point for part in all_parts for point in part.rule_states),
    )


Recent = Callable[[str, str], Sequence[TimedTrace]]
"""The newest traces of a project's app, newest first, for exemplars; may be none."""


def _no_traces(project: str, app: str) -> Sequence[TimedTrace]:
    del project, app
    return ()


@dataclass(slots=True, kw_only=True)
class Memory:
    """What builds hand on to the next one."""

    counter: TraceCounter | None = None
    """Makes `rag_monitor_traces_total` a counter over the life of the process; None: the traces of
    the window."""
    releases: ReleaseOrder = field(default_factory=ReleaseOrder)


def build(
    estimates: Estimates,
    apps: Sequence[App],
    now: datetime,
    alerts: Iterable[Alert] = (),
    rule_states: Iterable[RuleState] = (),
    *,
    memory: Memory | None = None,
    leads: bool = False,
    window: timedelta = WINDOW,
    max_series: int = MAX_SERIES,
    recent: Recent = _no_traces,
    budget_s: float = BUDGET_S,
) -> Snapshot:
    """The snapshot of the window that ends with the present minute.

    Args:
        estimates: Where the numbers come from.
        apps: Those that may be named, the most important first: where a limit bites, an app's
            releases are folded, then the app is left out; all after the last one that fits are.
        now: Aware UTC.
        alerts: All alerts of these apps; inactive ones are not shown.
        rule_states: How rules stand on these apps.
        memory: Of the builds before; None: there were none.
        leads: Whether this process leads.
        window: How far back estimates look.
        max_series: Most time series.
        recent: The newest traces, for exemplars.
        budget_s: Seconds after which no further apps are read.
    """
    end = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    shown = _alerts(alerts)[: min(MAX_ALERTS, max_series)]
    standing = _rule_states(rule_states)[: min(MAX_RULE_STATES, (max_series - len(shown)) // 4)]
    room = max_series - len(shown) - len(standing)
    named: set[App] = set()
    parts = [Snapshot(leads=leads, alerts=shown, rule_states=standing)]
    reading = _Reading(window=Window(end - window, end), memory=memory or Memory(), recent=recent)
    ends_at = time.monotonic() + budget_s
    too_large = 0
    for app, source in _in_bulk(estimates, apps, ends_at):
        part = reading.fitting(source, app, room)
        if part is not None:
            named.add(app)
            parts.append(part)
            room -= part.series
            continue
        too_large += 1
        if too_large == _TOO_LARGE:
            break
    folded: dict[str, int] = defaultdict(int)
    for app in apps:
        folded[app[0]] += app not in named
    return replace(together(parts), apps_folded=dict(folded))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Reads of its project what is asked of one app for its neighbours, too."""

    window: Estimates
    """All metrics."""
    counts: Estimates
    """Only how many traces there were."""


def _in_bulk(
    estimates: Estimates, apps: Sequence[App], ends_at: float
) -> Iterator[tuple[App, _Source]]:
    """Each app with its source, as long as there is time."""
    for start in range(0, len(apps), _TOGETHER):
        if time.monotonic() > ends_at:
            telemetry.dropped("exposition", "time_limit", len(apps) - start)
            return
        part = apps[start : start + _TOGETHER]
        by_project: dict[str, list[str]] = defaultdict(list)
        for project, app in part:
            by_project[project].append(app)
        sources = {
            project: _Source(
                window=estimates.once(names), counts=estimates.once(names, (TRACES_METRIC,))
            )
            for project, names in by_project.items()
        }
        yield from ((place, sources[place[0]]) for place in part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What all apps of one snapshot have in common."""

    window: Window
    memory: Memory
    recent: Recent

    def fitting(self, source: _Source, app: App, room: int) -> Snapshot | None:
        """The app in at most `room` series, if need be with its releases as one; None: too many."""
        newest = self.memory.releases.newest(source.window, *app, self.window)
        for named in (NAMED_RELEASES, 0):
            part = self._app(source, app, newest[:named], whole=named >= len(newest))
            if part.series <= room:
                return part
            if len(newest) < 2:
                break  # nothing to fold
        return None

    def _app(self, source: _Source, place: App, kept: Sequence[str], *, whole: bool) -> Snapshot:
        project, app = place
        folded = source.window if whole else source.window.folding(kept, OTHER_RELEASE)
        label = app_label(project, app)
        releases = [*kept, *([] if whole else [OTHER_RELEASE])]
        selection = Selection(project=project, app=app, window=self.window)
        counter = self.memory.counter
        if counter is None:
            statuses = folded.traces(selection)
        else:
            statuses = counter.count(source.counts, project, app, self.window.end)
        return Snapshot(
            scores=_scores(folded, selection, label),
            faults=_faults(folded, selection, label, releases),
            sessions=_sessions(folded, selection, label, releases),
            latencies=_with_examples(
                _latencies(folded, selection, label, releases),
                examples_of(self.recent(project, app), kept, OTHER_RELEASE),
            ),
            hits=_hits(folded, selection, label),
            traces=tuple(
                TracesPoint(project=project, app=label, status=safe_label(status), count=count)
                for status, count in sorted(statuses.items())
            ),
        )


def _scores(estimates: Estimates, selection: Selection, label: str) -> tuple[ScorePoint, ...]:
    judged = estimates.judged_series(selection)
    combined = {replace(series, judge=COMBINED): None for series in judged}
    of_releases = dict.fromkeys((*combined, *judged))
    of_app = {replace(series, release=None): None for series in of_releases}
    points: dict[tuple[str | None, ...], ScorePoint] = {}
    for series in (*of_app, *of_releases):
        point = _score(estimates, series, label, selection.window)
        points.setdefault((point.release, point.metric, point.judge), point)
    return tuple(points.values())


def _score(estimates: Estimates, series: Series, label: str, window: Window) -> ScorePoint:
    estimate = estimates.estimate(series, window)
    return ScorePoint(
        project=series.project,
        app=label,
        release=None if series.release is None else safe_label(series.release),
        metric=safe_label(series.metric),
        judge=safe_label(series.judge),
        value=estimate.value,
        lower=estimate.lower,
        upper=estimate.upper,
        samples=estimate.judged,
    )


def _faults(
    estimates: Estimates, selection: Selection, label: str, releases: Sequence[str]
) -> tuple[FaultPoint, ...]:
    """Of `none`, and of those faults that a trace of the app may have."""
    of_app = [_fault(estimates, selection, label, fault) for fault in Fault]
    shown = [point for point in of_app if point is not None and _has_share(point)]
    points = {(point.release, point.fault): point for point in shown}
    for release in releases:
        for named in shown:
            only = replace(selection, release=release)
            point = _fault(estimates, only, label, Fault(named.fault))
            if point is not None:
                points.setdefault((point.release, point.fault), point)
    return tuple(points.values())


def _has_share(point: FaultPoint) -> bool:
    return bool(point.ratio) or point.fault == Fault.NONE.value


def _fault(
    estimates: Estimates, selection: Selection, label: str, fault: Fault
) -> FaultPoint | None:
    series = selection.series(fault_metric(fault), COMBINED)
    share = estimates.estimate(series, selection.window)
    if share.value is None:
        return None
    return FaultPoint(
        project=selection.project,
        app=label,
        release=None if selection.release is None else safe_label(selection.release),
        fault=fault.value,
        ratio=share.value,
        lower=share.lower,
        upper=share.upper,
        samples=share.judged,
    )


def _sessions(
    estimates: Estimates, selection: Selection, label: str, releases: Sequence[str]
) -> tuple[SessionPoint, ...]:
    points: dict[tuple[str | None, str], SessionPoint] = {}
    for release in (None, *releases):
        shown = None if release is None else safe_label(release)
        for metric in SESSION_METRICS:
            series = replace(selection, release=release).series(metric, COMBINED)
            estimate = estimates.estimate(series, selection.window)
            if estimate.value is None:
                continue
            points.setdefault(
                (shown, metric),
                SessionPoint(
                    project=selection.project,
                    app=label,
                    release=shown,
                    metric=metric,
                    value=estimate.value,
                    lower=estimate.lower,
                    upper=estimate.upper,
                    samples=estimate.judged,
                ),
            )
        if release is None and not points:
            break  # an app without sessions is asked no further
    return tuple(points.values())


def _latencies(
    estimates: Estimates, selection: Selection, label: str, releases: Sequence[str]
) -> tuple[LatencyPoint, ...]:
    points: dict[tuple[str, str], LatencyPoint] = {}
    for release in releases:
        for metric, name in LATENCIES.items():
            summary = estimates.latency(replace(selection, release=release), metric)
            if summary.count:
                shown = safe_label(release)
                points.setdefault(
                    (name, shown),
                    LatencyPoint(
                        name=name,
                        project=selection.project,
                        app=label,
                        release=shown,
                        counts=summary.histogram,
                        sum_s=summary.total_ms / 1000.0,
                    ),
                )
    return tuple(points.values())


def _with_examples(
    points: Sequence[LatencyPoint], examples: Mapping[tuple[str, str], Examples]
) -> tuple[LatencyPoint, ...]:
    by_name = {
        (LATENCIES[timing], safe_label(release)): exemplars
        for (timing, release), exemplars in examples.items()
    }
    return tuple(
        replace(point, examples=by_name.get((point.name, point.release), ())) for point in points
    )


def _hits(estimates: Estimates, selection: Selection, label: str) -> tuple[HitPoint, ...]:
    points: dict[tuple[str, ...], HitPoint] = {}
    for kind, name in estimates.hit_names(selection):
        for basis in ("all", "expected"):
            estimate = estimates.hit_rate(selection, kind, name, basis)
            if estimate.value is not None:
                shown = safe_label(name)
                points.setdefault(
                    (kind.value, shown, basis),
                    HitPoint(
                        project=selection.project,
                        app=label,
                        kind=kind.value,
                        name=shown,
                        basis=basis,
                        ratio=estimate.value,
                        lower=estimate.lower,
                        upper=estimate.upper,
                        samples=estimate.judged,
                    ),
                )
    return tuple(points.values())


def _alerts(alerts: Iterable[Alert]) -> tuple[AlertPoint, ...]:
    shown = [alert for alert in alerts if alert.state in _SHOWN_FIRST]
    points = {
        AlertPoint(
            project=alert.project,
            app=app_label(alert.project, alert.app),
            rule=safe_label(alert.rule),
            state=alert.state.value,
        ): None
        for alert in sorted(shown, key=lambda alert: _SHOWN_FIRST.index(alert.state))
    }
    return tuple(points)


def _rule_states(states: Iterable[RuleState]) -> tuple[RuleStatePoint, ...]:
    order = list(_STATES_FIRST)
    points = {
        RuleStatePoint(
            project=state.project,
            app=app_label(state.project, state.app),
            rule=safe_label(state.rule),
            state=state.verdict.value,
        ): None
        for state in sorted(states, key=lambda one: order.index(one.verdict))
    }
    return tuple(points)
