"""Latency of a window: percentiles interpolated from the histogram, all in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.metrics.latency import histogram_percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySummary:
    """One latency over a window; values in milliseconds, None without traces."""

    count: int = 0
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    mean: float | None = None
    histogram: tuple[int, ...] = ()
    """Per bucket of `LATENCY_BUCKETS_S`, not cumulative; the last one is open."""
    total_ms: float = 0.0
    """Sum of all values."""


def latency_summary(totals: Totals) -> LatencySummary:
    """The summary of added-up latency rollups."""
    if not totals.count:
        return LatencySummary()

    def at(share: float) -> float | None:
        seconds = histogram_percentile(totals.histogram, LATENCY_BUCKETS_S, share)
        return None if seconds is None else seconds * 1000.0

    return LatencySummary(
        count=totals.count,
        p50=at(0.5),
        p90=at(0.9),
        p99=at(0.99),
        mean=totals.total / totals.count,
        histogram=tuple(totals.histogram),
        total_ms=totals.total,
    )
