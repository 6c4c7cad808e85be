"""Many apps as a list: a line each with what changed since the time before, and their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.domain.alert import Alert
from rag_monitor.domain.rollup import TRACES_METRIC
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import AppSummary
from rag_monitor.domain.window import Estimate, Window
from rag_monitor.server.quality import read_together
from rag_monitor.server.ui import changes
from rag_monitor.server.ui.changes import Changed

METRICS: Final = ("faithfulness", "context_relevance", "answer_relevance")
_LATENCY: Final = "end_to_end_ms"
_READ: Final = (*METRICS, TRACES_METRIC, _LATENCY)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppRow:
    """One app."""

    app: str
    last_seen: datetime
    estimates: Mapping[str, Estimate]
    changes: Mapping[str, Changed | None]
    """Against the window before, by metric."""
    traces: int
    errors: int
    latency: LatencySummary
    """End to end."""
    alerts: Sequence[Alert]


def app_rows(
    source: Estimates,
    project: str,
    apps: Sequence[AppSummary],
    window: Window,
    alerts: Sequence[Alert],
) -> list[AppRow]:
    """The numbers of every app over a window, their changes judged among all."""
    return _with_changes(
        [
            _app_row(once, project, app, window, alerts)
            for app, once in read_together(source, apps, _READ)
        ]
    )


def _app_row(
    source: Estimates,
    project: str,
    app: AppSummary,
    window: Window,
    alerts: Sequence[Alert],
) -> AppRow:
    """The numbers of an app over a window."""
    now = Selection(project=project, app=app.app, window=window)
    before = now.over(window.before())
    estimates = {
        metric: source.estimate(now.series(metric, COMBINED), window) for metric in METRICS
    }
    counts = source.traces(now)
    return AppRow(
        app=app.app,
        last_seen=app.last_seen,
        estimates=estimates,
        changes={metric: changes.of_metric(source, metric, before, now) for metric in METRICS},
        traces=sum(counts.values()),
        errors=counts.get("error", 0),
        latency=source.latency(now, _LATENCY),
        alerts=[alert for alert in alerts if alert.app == app.app],
    )


def _with_changes(app_rows: Sequence[AppRow]) -> list[AppRow]:
    """The lines with their changes judged among all that the list shows."""
    estimates = iter(
        changes.together([c for one in app_rows for c in one.changes.values() if c is not None])
    )
    return [
        replace(one, changes={metric: c and next(estimates) for metric, c in one.changes.items()})
        for one in app_rows
    ]


def _by_metric(metric: str) -> Callable[[AppRow], Any]:
    """The worst first; those without a value last."""

    def key(one: AppRow) -> tuple[bool, float]:
        value = one.estimates[metric].value
        return value is None, value or 0.0

    return key


_ORDERS: Final[Mapping[str, Callable[[AppRow], Any]]] = {
    **{metric: _by_metric(metric) for metric in METRICS},
    "latency": lambda one: -(one.latency.p90 or 0.0),
    "traces": lambda one: -one.traces,
    "errors": lambda one: -one.errors,
    "seen": lambda one: -one.last_seen.timestamp(),
}


def ordered(app_rows: Sequence[AppRow], wanted: str) -> tuple[str, list[AppRow]]:
    """The order that was asked for, or `app` for their names; and the lines in it."""
    by_name = sorted(app_rows, key=lambda one: one.app)
    if wanted not in _ORDERS:
        return "app", by_name
    return wanted, sorted(by_name, key=_ORDERS[wanted])
