"""Reads a window of an app out of the estimates: what both the API and the pages show.

Many apps come page by page, the busiest of the window first, so that a page costs the same always.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import REFUSAL_METRIC, SATISFACTION_METRIC
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.domain.stored import AppSummary
from rag_monitor.domain.window import Estimate, Window
from rag_monitor.errors import MalformedPayload
from rag_monitor.metrics.routing import Confusion
from rag_monitor.store.traces import Traces

SCORE_METRICS: Final = (
    "faithfulness",
    "answer_supported",
    "answer_relevance",
    "answer_relevancy",
    "context_relevance",
    "context_sufficiency",
    "context_precision",
    "context_utilization",
    "context_recall",
    "citation_precision",
    "citation_recall",
    "citation_validity",
    "summary_score",
)
"""Scores, the better the higher."""
SHOWN_METRICS: Final = (*SCORE_METRICS, REFUSAL_METRIC, SATISFACTION_METRIC)
MIN_COMPARED: Final = 20
"""Fewer scored traces than this on either side bear no comparison."""
"""What judges answer for and what users say, in the order shown."""
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
class JudgeShare:
    """How many of an app's traces one judge has judged."""

    judge: str
    """Its identity."""
    judged: int
    share: float
    """Of all traces, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppQuality:
    """One app over one window."""

    app: str
    traces: Mapping[str, int]
    judges: Sequence[JudgeShare]
    """The busiest first; where a judge stood in for another, both."""
    metrics: Sequence[Estimate]
    """Only those that were scored, failed or were suspect at least once."""
    sessions: Sequence[Estimate]
    """Over the sessions that ended in the window; empty: none did."""
    latency: Mapping[str, LatencySummary]
    hit_rates: Sequence[HitRate]
    routing: Sequence[Confusion]

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
    estimates: Estimates,
    apps: Sequence[AppSummary],
    metrics: Sequence[str] = (),
    drawn: Sequence[str] = (),
) -> Iterator[tuple[AppSummary, Estimates]]:
    """Each app with a source that reads what is asked of it for its neighbours, too.

    Args:
        estimates: Where numbers come from.
        apps: In the order in which they are asked about.
        metrics: Names in rollups; others are read app by app. Empty: all.
        drawn: Of these steps are read, too, and all at once.
    """
    for start in range(0, len(apps), _TOGETHER):
        part = apps[start : start + _TOGETHER]
        source = estimates.once([app.app for app in part], metrics, drawn)
        yield from ((app, source) for app in part)


def app_quality(estimates: Estimates, selection: Selection) -> AppQuality:
    """Everything about these traces, and about no others."""
    source = estimates.once()
    traces = source.traces(selection)
    return AppQuality(
        app=selection.app,
        traces=traces,
        judges=_judges(source.coverage(selection), sum(traces.values())),
        metrics=_metrics(source, selection, SHOWN_METRICS),
        sessions=_metrics(source, selection, SESSION_METRICS),
        latency={metric: source.latency(selection, metric) for metric in LATENCIES},
        hit_rates=_hit_rates(source, selection),
        routing=source.routing(selection),
    )


def _judges(coverage: Sequence[tuple[str, int]], traces: int) -> list[JudgeShare]:
    return [
        JudgeShare(judge=judge, judged=count, share=min(1.0, count / traces) if traces else 0.0)
        for judge, count in coverage
        if count
    ]


def fault_shares(estimates: Estimates, selection: Selection) -> list[Estimate]:
    """The share of each fault, `none` first, in the order of `Fault`; empty: nothing is diagnosed.

    Reads all of them at once where the estimates are those of `Estimates.once`.
    """
    shares = [
        estimates.estimate(selection.series(metric, COMBINED), selection.window)
        for metric in FAULT_METRICS
    ]
    return shares if any(s.judged or s.failed or s.suspect for s in shares) else []


def by_knowledge_base(
    estimates: Estimates, selection: Selection
) -> Mapping[str, Sequence[Estimate]]:
    """The metrics over those of the traces that each knowledge base gave passages to."""
    names = estimates.knowledge_bases(selection)[:MAX_KNOWLEDGE_BASES]
    return {name: _metrics(estimates, selection.of(name), SHOWN_METRICS) for name in names}


def _metrics(source: Estimates, selection: Selection, names: Sequence[str]) -> list[Estimate]:
    estimates = (
        source.estimate(selection.series(metric, COMBINED), selection.window) for metric in names
    )
    return [
        estimate for estimate in estimates if estimate.judged or estimate.failed or estimate.suspect
    ]


def _hit_rates(source: Estimates, selection: Selection) -> list[HitRate]:
    names = source.hit_names(selection)[:MAX_HIT_NAMES]
    rates = [
        HitRate(
            kind=HitKind(kind),
            name=name,
            basis=basis,
            estimate=source.hit_rate(selection, HitKind(kind), name, basis),
        )
        for kind, name in names
        for basis in ("all", "expected")
    ]
    return [rate for rate in rates if rate.estimate.value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPage:
    """Some of the apps."""

    shown: Sequence[AppSummary]
    """By name."""
    less_busy: int = 0
    """Apps on later pages."""
    next: str | None = None
    """Where the next page begins; None on the last one."""


def page_of(
    traces: Traces,
    project: str,
    apps: Sequence[AppSummary],
    window: Window,
    limit: int,
    cursor: str | None = None,
) -> AppPage:
    """The page of `apps` that begins at a cursor; where all fit on one nobody is ranked.

    Raises:
        MalformedPayload: The cursor is none of ours.
    """
    after = None if cursor is None else _decoded(cursor)
    if after is None and len(apps) <= limit:
        return AppPage(shown=sorted(apps, key=lambda app: app.app))
    counts = {one.app: one.traces for one in traces.traffic(project, window)}
    places = {(-counts.get(app.app, 0), app.app): app for app in apps}
    left = sorted(place for place in places if after is None or place > after)
    page, rest = left[:limit], left[limit:]
    return AppPage(
        shown=sorted((places[place] for place in page), key=lambda app: app.app),
        less_busy=len(rest),
        next=_encoded(*page[-1]) if rest else None,
    )


def _encoded(count: int, app: str) -> str:
    text = f"{-count}:{app}".encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(text).decode("ascii").rstrip("=")


def _decoded(cursor: str) -> tuple[int, str]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        count, app = base64.urlsafe_b64decode(padded).decode("utf-8", "surrogatepass").split(":", 1)
        return -int(count), app
    except (ValueError, binascii.Error):
        raise MalformedPayload("the cursor is not one this server handed out") from None
