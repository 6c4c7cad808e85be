"""A Snapshot: everything a scrape shows that comes from the database.

Built by the leader at its leisure, so that a scrape never waits for the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from rag_monitor import telemetry
from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.labels import app_label, safe_label
from rag_monitor.domain.alert import Alert, AlertState
from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.domain.stored import TraceSummary
from rag_monitor.domain.window import Series, Window
from rag_monitor.exposition.exemplars import Examples, examples_of
from rag_monitor.exposition.trace_counter import TraceCounter

WINDOW: Final = timedelta(hours=1)
NAMED_RELEASES: Final = 5
"""The newest releases that keep their name; the rest is `other`."""
OTHER_RELEASE: Final = "other"
MAX_SERIES: Final = 20_000
LATENCIES: Final = {
    "first_byte_ms": "rag_monitor_first_byte_seconds",
    "generation_ms": "rag_monitor_generation_seconds",
    "end_to_end_ms": "rag_monitor_end_to_end_seconds",
}
"""Metric of the rollups to name in Prometheus."""
_SERIES_PER_HISTOGRAM: Final = len(LATENCY_BUCKETS_S) + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePoint:
    """One estimate."""

    project: str
    app: str
    release: str | None
    """None: of all releases together, which is what most rules watch."""
    metric: str
    judge: str
    value: float | None
    lower: float | None
    upper: float | None
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyPoint:
    """One latency histogram of the window."""

    name: str
    """Name in Prometheus."""
    project: str
    app: str
    release: str
    counts: tuple[int, ...]
    """Per bucket of `LATENCY_BUCKETS_S` and the open one, not cumulative."""
    sum_s: float
    examples: Examples = ()
    """Per bucket a trace that fell into it; empty where none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitPoint:
    """One hit rate."""

    project: str
    app: str
    kind: str
    name: str
    basis: str
    ratio: float
    lower: float | None
    upper: float | None
    samples: int
    """Traces the ratio is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracesPoint:
    """Traces by status, counted since the counter began."""

    project: str
    app: str
    status: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertPoint:
    """An alert that is pending, firing or just resolved."""

    project: str
    app: str
    rule: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Label values are already safe; no two points of a kind share their labels."""

    taken_at: datetime | None = None
    leads: bool = False
    """Whether the process that took it leads."""
    scores: tuple[ScorePoint, ...] = ()
    latencies: tuple[LatencyPoint, ...] = ()
    hits: tuple[HitPoint, ...] = ()
    traces: tuple[TracesPoint, ...] = ()
    alerts: tuple[AlertPoint, ...] = ()

    @property
    def series(self) -> int:
        """How many time series this makes at most."""
        return (
            4 * len(self.scores)
            + _SERIES_PER_HISTOGRAM * len(self.latencies)
            + 4 * len(self.hits)
            + len(self.traces)
            + len(self.alerts)
        )

    def of(self, project: str | None) -> Snapshot:
        """Only what belongs to a project; None: everything."""
        if project is None:
            return self
        return replace(
            self,
            scores=tuple(point for point in self.scores if point.project == project),
            latencies=tuple(point for point in self.latencies if point.project == project),
            hits=tuple(point for point in self.hits if point.project == project),
            traces=tuple(point for point in self.traces if point.project == project),
            alerts=tuple(point for point in self.alerts if point.project == project),
        )

    def plus(self, other: Snapshot) -> Snapshot:
        """Both together."""
        return replace(
            self,
            scores=self.scores + other.scores,
            latencies=self.latencies + other.latencies,
            hits=self.hits + other.hits,
            traces=self.traces + other.traces,
            alerts=self.alerts + other.alerts,
        )


Recent = Callable[[str, str], Sequence[TraceSummary]]


def build(
    estimates: Estimates,
    apps: Sequence[tuple[str, str]],
    now: datetime,
    alerts: Iterable[Alert] = (),
    *,
    counter: TraceCounter | None = None,
    leads: bool = False,
    window: timedelta = WINDOW,
    max_series: int = MAX_SERIES,
    recent: Recent | None = None,
) -> Snapshot:
    """The snapshot of the window that ends with the present minute.

    Args:
        estimates: Where the numbers come from.
        apps: Pairs of project and app, the most important first: where the limit bites, an app's
            releases are folded, then the app is left out and counted.
        now: Aware UTC.
        alerts: All alerts of these apps; inactive ones are not shown.
        counter: Makes `rag_monitor_traces_total` a counter over the life of the process; without
            it, the traces of the window.
        leads: Whether this process leads.
        window: How far back estimates look.
        max_series: Most time series.
        recent: The newest traces of a project and app, newest first, for exemplars; None: none.
    """
    end = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    span = Window(end - window, end)
    snapshot = Snapshot(taken_at=now, leads=leads, alerts=_alerts(alerts)[:max_series])
    for project, app in apps:
        room = max_series - snapshot.series
        for named in (NAMED_RELEASES, 0):
            part = _app(estimates, project, app, span, named, counter, recent)
            if part.series <= room:
                snapshot = snapshot.plus(part)
                break
        else:
            telemetry.dropped("exposition", "series_limit", part.series)
    return snapshot


def _app(
    estimates: Estimates,
    project: str,
    app: str,
    window: Window,
    named: int,
    counter: TraceCounter | None,
    recent: Recent | None,
) -> Snapshot:
    newest = estimates.releases(project, app, window)
    folded = estimates.folding(newest[:named], OTHER_RELEASE)
    label = app_label(project, app)
    releases = [*newest[:named], *([OTHER_RELEASE] if newest[named:] else [])]
    if counter is None:
        statuses = folded.traces(project, app, window)
    else:
        statuses = counter.count(estimates, project, app, window.end)
    return Snapshot(
        scores=_scores(folded, project, app, label, window),
        latencies=_with_examples(
            _latencies(folded, project, app, label, window, releases),
            examples_of(recent(project, app) if recent else (), newest[:named], OTHER_RELEASE),
        ),
        hits=_hits(folded, project, app, label, window),
        traces=tuple(
            TracesPoint(project=project, app=label, status=safe_label(status), count=count)
            for status, count in sorted(statuses.items())
        ),
    )


def _scores(
    estimates: Estimates, project: str, app: str, label: str, window: Window
) -> tuple[ScorePoint, ...]:
    judged = estimates.judged_series(project, app, window)
    combined = {replace(series, judge=COMBINED): None for series in judged}
    of_releases = (*combined, *judged)
    of_app = {replace(series, release=None): None for series in of_releases}
    points: dict[tuple[str | None, ...], ScorePoint] = {}
    for series in (*of_app, *of_releases):
        point = _score(estimates, series, label, window)
        points.setdefault((point.release, point.metric, point.judge), point)
    return tuple(points.values())


def _score(estimates: Estimates, series: Series, label: str, window: Window) -> ScorePoint:
    found = estimates.estimate(series, window)
    return ScorePoint(
        project=series.project,
        app=label,
        release=None if series.release is None else safe_label(series.release),
        metric=safe_label(series.metric),
        judge=safe_label(series.judge),
        value=found.value,
        lower=found.lower,
        upper=found.upper,
        samples=found.judged,
    )


def _latencies(
    estimates: Estimates,
    project: str,
    app: str,
    label: str,
    window: Window,
    releases: Sequence[str],
) -> tuple[LatencyPoint, ...]:
    points: dict[tuple[str, str], LatencyPoint] = {}
    for release in releases:
        for metric, name in LATENCIES.items():
            found = estimates.latency(project, app, metric, window, release)
            if found.count:
                shown = safe_label(release)
                points.setdefault(
                    (name, shown),
                    LatencyPoint(
                        name=name,
                        project=project,
                        app=label,
                        release=shown,
                        counts=found.histogram,
                        sum_s=found.total_ms / 1000.0,
                    ),
                )
    return tuple(points.values())


def _with_examples(
    points: Sequence[LatencyPoint], examples: Mapping[tuple[str, str], Examples]
) -> tuple[LatencyPoint, ...]:
    by_name = {
        (LATENCIES[timing], safe_label(release)): found
        for (timing, release), found in examples.items()
    }
    return tuple(
        replace(point, examples=by_name.get((point.name, point.release), ())) for point in points
    )


def _hits(
    estimates: Estimates, project: str, app: str, label: str, window: Window
) -> tuple[HitPoint, ...]:
    points: dict[tuple[str, ...], HitPoint] = {}
    for kind, name in estimates.hit_names(project, app, window):
        for basis in ("all", "expected"):
            found = estimates.hit_rate(project, app, kind, name, basis, window)
            if found.value is not None:
                shown = safe_label(name)
                points.setdefault(
                    (kind.value, shown, basis),
                    HitPoint(
                        project=project,
                        app=label,
                        kind=kind.value,
                        name=shown,
                        basis=basis,
                        ratio=found.value,
                        lower=found.lower,
                        upper=found.upper,
                        samples=found.judged,
                    ),
                )
    return tuple(points.values())


def _alerts(alerts: Iterable[Alert]) -> tuple[AlertPoint, ...]:
    points = {
        AlertPoint(
            project=alert.project,
            app=app_label(alert.project, alert.app),
            rule=safe_label(alert.rule),
            state=alert.state.value,
        ): None
        for alert in alerts
        if alert.state is not AlertState.INACTIVE
    }
    return tuple(points)
