"""Reads a window of an app out of the estimates: what both the API and the pages show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.stored import AppSummary
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.measures import LatencySummary, RoutingConfusion
from rag_monitor.server.ports import EstimateSource

SCORE_METRICS: Final = (
    "faithfulness",
    "answer_supported",
    "answer_relevance",
    "answer_relevancy",
    "context_relevance",
    "context_precision",
    "context_utilization",
    "context_recall",
    "summary_score",
)
"""Scores, the better the higher."""
SHOWN_METRICS: Final = (*SCORE_METRICS, REFUSAL_METRIC)
"""What judges answer for, in the order shown."""
LATENCIES: Final = ("first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms")
MAX_HIT_NAMES: Final = 50
MAX_KNOWLEDGE_BASES: Final = 20
_TOGETHER: Final = 25
"""So many apps are read together: a hundred are not kept in mind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRate:
    """How often one thing was hit."""

    kind: HitKind
    name: str
    basis: str
    estimate: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class AppQuality:
    """One app over one window."""

    app: str
    traces: Mapping[str, int]
    metrics: Sequence[Estimate]
    """Only those that were scored, failed or were suspect at least once."""
    latency: Mapping[str, LatencySummary]
    hit_rates: Sequence[HitRate]
    routing: Sequence[RoutingConfusion]

    @property
    def total(self) -> int:
        """Traces of every status."""
        return sum(self.traces.values())

    @property
    def judged(self) -> int:
        """Traces judged on the metric that was judged most."""
        return max((m.judged for m in self.metrics), default=0)


STEPS_MIN: Final = (1, 2, 5, 10, 20, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def step_for(window: Window, points: int) -> timedelta:
    """The shortest round step that makes at most `points` of the window."""
    lengths = (timedelta(minutes=minutes) for minutes in STEPS_MIN)
    return next(
        (step for step in lengths if window.length <= points * step),
        timedelta(minutes=STEPS_MIN[-1]),
    )


def on_grid(window: Window, step: timedelta) -> Window:
    """The window, begun up to a step earlier so that steps begin at round times (UTC).

    Such steps are made of hours and days that are added up already.
    """
    return Window(window.start - (window.start - _EPOCH) % step, window.end)


def read_together(
    estimates: EstimateSource, apps: Sequence[AppSummary], metrics: Sequence[str] = ()
) -> Iterator[tuple[AppSummary, EstimateSource]]:
    """Each app with a source that reads what is asked of it for its neighbours, too.

    Args:
        estimates: Where numbers come from.
        apps: In the order in which they are asked about.
        metrics: Names in rollups; others are read app by app. Empty: all.
    """
    for start in range(0, len(apps), _TOGETHER):
        part = apps[start : start + _TOGETHER]
        source = estimates.once([app.app for app in part], metrics)
        yield from ((app, source) for app in part)


def app_quality(
    estimates: EstimateSource, project: str, app: str, window: Window, release: str | None = None
) -> AppQuality:
    """Everything about one app in one window."""
    source = estimates.once()
    return AppQuality(
        app=app,
        traces=source.traces(project, app, window),
        metrics=_metrics(source, project, app, window, release),
        latency={m: source.latency(project, app, m, window, release) for m in LATENCIES},
        hit_rates=_hit_rates(source, project, app, window),
        routing=source.routing(project, app, window),
    )


def by_knowledge_base(
    estimates: EstimateSource, project: str, app: str, window: Window, release: str | None = None
) -> Mapping[str, Sequence[Estimate]]:
    """The metrics over the traces that each knowledge base gave passages to."""
    names = estimates.knowledge_bases(project, app, window)[:MAX_KNOWLEDGE_BASES]
    return {name: _metrics(estimates, project, app, window, release, name) for name in names}


def _metrics(
    source: EstimateSource,
    project: str,
    app: str,
    window: Window,
    release: str | None,
    knowledge_base: str | None = None,
) -> list[Estimate]:
    estimates = (
        source.estimate(
            Series(
                project=project,
                app=app,
                metric=metric,
                judge=COMBINED,
                release=release,
                knowledge_base=knowledge_base,
            ),
            window,
        )
        for metric in SHOWN_METRICS
    )
    return [found for found in estimates if found.judged or found.failed or found.suspect]


def _hit_rates(source: EstimateSource, project: str, app: str, window: Window) -> list[HitRate]:
    names = source.hit_names(project, app, window)[:MAX_HIT_NAMES]
    rates = [
        HitRate(
            kind=HitKind(kind),
            name=name,
            basis=basis,
            estimate=source.hit_rate(project, app, HitKind(kind), name, basis, window),
        )
        for kind, name in names
        for basis in ("all", "expected")
    ]
    return [rate for rate in rates if rate.estimate.value is not None]
