"""What a scrape shows of the database, point by point, and the exemplars of latencies.

Label values are already safe; no two points of a kind share their labels. For each bucket of a
latency histogram the exemplar is a recent trace that fell into it: Grafana links a dot on a chart
to it. A trace id is never a label of a series.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.domain.stored import TimedTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A trace that stands for a bucket."""

    trace_id: str
    seconds: float
    at: datetime
    """When its request began."""


Examples = tuple[Example | None, ...]
"""One per bucket of `LATENCY_BUCKETS_S` and the open one."""

TIMINGS: Final = ("first_byte_ms", "end_to_end_ms")
"""Timings that have exemplars."""


def examples_of(
    recent: Iterable[TimedTrace], named: Collection[str], other: str
) -> dict[tuple[str, str], Examples]:
    """Per timing and release, the newest trace of each bucket.

    Args:
        recent: Traces of one app, the newest first.
        named: Releases that keep their name.
        other: The name of all others.
    """
    rows: dict[tuple[str, str], list[Example | None]] = {}
    for trace in recent:
        release = trace.release or ""
        release = release if release in named else other
        for timing in TIMINGS:
            value: float | None = getattr(trace, timing)
            if value is None or value < 0:
                continue
            seconds = value / 1000.0
            row = rows.setdefault((timing, release), [None] * (len(LATENCY_BUCKETS_S) + 1))
            place = bisect_left(LATENCY_BUCKETS_S, seconds)
            row[place] = row[place] or Example(
                trace_id=trace.trace_id, seconds=seconds, at=trace.started_at
            )
    return {key: tuple(row) for key, row in rows.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPoint:
    """The share of traces with one fault."""

    project: str
    app: str
    release: str | None
    """None: of all releases together."""
    fault: str
    ratio: float
    lower: float | None
    upper: float | None
    samples: int


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
class SessionPoint:
    """A metric of sessions, one value a session."""

    project: str
    app: str
    release: str | None
    """None: of all releases together."""
    metric: str
    value: float
    lower: float | None
    upper: float | None
    samples: int
    """Sessions behind the estimate."""


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


@dataclass(frozen=True, slots=True)
class RuleStatePoint:
    """What a rule says of an app."""

    project: str
    app: str
    rule: str
    state: str
