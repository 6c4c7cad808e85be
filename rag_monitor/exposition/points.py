"""What a scrape shows of the database, point by point.

Label values are already safe; no two points of a kind share their labels.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag_monitor.exposition.exemplars import Examples


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
