"""Shares of traces: hit rates, errors, and whatever else is counted by trace and by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_monitor.aggregation.clusters import count_sizes
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Estimate
from rag_monitor.statistics.clusters import (
    INDEPENDENT,
    DesignEffect,
    clustered_wilson,
    design_effect,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Some of the traces of a window."""

    hits: float
    by_bucket: Sequence[float]
    """The hits, by bucket of clusters."""
    base: Totals
    """All traces: its `count`, and its weights by bucket."""

    @property
    def value(self) -> float:
        """Hits over traces; there must be some."""
        return min(1.0, self.hits / self.base.count)

    @property
    def clustered(self) -> bool:
        """Whether the dependence of traces of a session can be told."""
        return count_sizes(self.base).share > 0.0


def share_design(window: Share, over: Share) -> DesignEffect:
    """What the dependence of traces of one session adds to the variance of a share.

    Args:
        window: The share that is estimated.
        over: The same over a stretch that holds the window.
    """
    count = float(over.base.count)
    sizes = count_sizes(over.base)
    if count < 2.0 or not sizes.share:
        return INDEPENDENT
    share = over.value
    pairs = zip(over.by_bucket, sizes.buckets, strict=True)
    influence = [(hits - share * traces) / count for hits, traces in pairs]
    variance = share * (1.0 - share) / (count - 1.0)
    own = None if over is window else count_sizes(window.base)
    return design_effect(influence, variance, sizes, own)


def share_estimate(
    metric: str, selection: Selection, share: Share, over: Share, confidence: float
) -> Estimate:
    """The share with its Wilson interval.

    Args:
        metric: What is counted.
        selection: Of which traces.
        share: Of these.
        over: Of the stretch that tells how much alike traces of a session are.
        confidence: Two-sided level.
    """
    count, series, window = share.base.count, selection.series(metric), selection.window
    if not count:
        return Estimate(series=series, window=window, value=None, lower=None, upper=None)
    value, design = share.value, share_design(share, over)
    se = (value * (1.0 - value) / count) ** 0.5
    interval = clustered_wilson(value, se, count, design, confidence)
    return Estimate(
        series=series,
        window=window,
        value=value,
        lower=interval.lower,
        upper=interval.upper,
        confidence=confidence,
        traces=count,
        judged=count,
        effective=interval.effective,
        design_effect=design.value,
        degrees=design.degrees,
    )
