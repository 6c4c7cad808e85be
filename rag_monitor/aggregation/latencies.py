"""Latency of a window: percentiles from counts in narrow buckets, all in milliseconds.

Buckets grow by 5%, so that a percentile is within 2.5% of the one of the single values, however few
they are (Masson, Rim and Lee, DDSketch, VLDB 2019). They are kept beside the wide buckets that
Prometheus scrapes; rollups from before they existed are read from the wide ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.metrics.latency import histogram_percentile
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect
from rag_monitor.statistics.quantiles import quantile_ranks

ACCURACY: Final = 0.025
"""Largest relative error of a percentile."""
_GROWTH: Final = (1.0 + ACCURACY) / (1.0 - ACCURACY)
_LOG_GROWTH: Final = math.log(_GROWTH)
_SMALLEST_MS: Final = 0.01


def fine_bucket(value_ms: float) -> int:
    """The narrow bucket of a latency: growth^(index - 1) < value <= growth^index."""
    return math.ceil(math.log(max(value_ms, _SMALLEST_MS)) / _LOG_GROWTH)


class QuantileInterval(NamedTuple):
    """Both ends, in milliseconds; None: the interval has no such end.

    A p99 of twenty traces may be above the slowest of them: how far, they do not say.
    """

    lower: float | None
    upper: float | None


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
    fine: Mapping[int, int] = field(default_factory=dict)
    """Counts by narrow bucket; empty where some of the rollups have none."""
    design: DesignEffect = INDEPENDENT
    """What the dependence of traces of one session adds."""

    def quantile(self, share: float) -> float | None:
        """The `share` quantile in milliseconds; None without traces."""
        if self.fine:
            return _fine_quantile(self.fine, share)
        seconds = histogram_percentile(self.histogram, LATENCY_BUCKETS_S, share)
        return None if seconds is None else seconds * 1000.0

    def interval(self, share: float, confidence: float = 0.95) -> QuantileInterval:
        """What the `share` quantile lies between, in milliseconds, whatever the distribution.

        From the lower edge of the narrow bucket that holds the one order statistic to the upper
        edge of the one that holds the other: an interval must not be narrower than its buckets. Of
        wide buckets alone both are interpolated as every percentile is.
        """
        worth = min(self.count, math.floor(self.design.size(self.count, confidence)))
        lower, upper = quantile_ranks(worth, share, confidence)
        # The ranks are of so many independent traces: as far up and down among all there are.
        return QuantileInterval(
            None if lower is None else self._edge(math.ceil(lower * self.count / worth), -1.0),
            None if upper is None else self._edge(math.ceil(upper * self.count / worth), 0.0),
        )

    def _edge(self, rank: int, step: float) -> float | None:
        """An edge of the bucket with the value of that rank (1: the smallest); None: it is open."""
        if self.fine:
            return math.exp((_bucket_at(self.fine, rank - 1) + step) * _LOG_GROWTH)
        if rank > self.count - self.histogram[-1]:
            return None if step == 0.0 else LATENCY_BUCKETS_S[-1] * 1000.0
        return self.quantile(rank / self.count)


def latency_summary(totals: Totals, design: DesignEffect = INDEPENDENT) -> LatencySummary:
    """The summary of added-up latency rollups."""
    if not totals.count:
        return LatencySummary()
    places = [
        (index, int(count))
        for name, count in totals.moments.items()
        if (index := keys.latency_index(name)) is not None
    ]
    places.sort()  # once: to sort what is in order is cheap, and each percentile does
    fine = dict(places)
    counts = LatencySummary(
        histogram=tuple(totals.histogram),
        fine=fine if sum(fine.values()) == totals.count else {},
    )
    return LatencySummary(
        count=totals.count,
        p50=counts.quantile(0.5),
        p90=counts.quantile(0.9),
        p99=counts.quantile(0.99),
        mean=totals.total / totals.count,
        histogram=counts.histogram,
        total_ms=totals.total,
        fine=counts.fine,
        design=design,
    )


def _fine_quantile(fine: Mapping[int, int], share: float) -> float:
    """Between the two values around the rank, as NumPy and spreadsheets do it."""
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a percentile is asked for as a share from 0 to 1, not {share}")
    place = (sum(fine.values()) - 1) * share
    below = math.floor(place)
    low, high = _value_at(fine, below), _value_at(fine, math.ceil(place))
    return low + (high - low) * (place - below)


def _value_at(fine: Mapping[int, int], rank: int) -> float:
    """The value with so many below it, within `ACCURACY`."""
    return 2.0 * math.exp(_bucket_at(fine, rank) * _LOG_GROWTH) / (_GROWTH + 1.0)


def _bucket_at(counts: Mapping[int, int], rank: int) -> int:
    """The bucket of the value with so many below it."""
    passed = 0
    index = 0
    for index in sorted(counts):
        passed += counts[index]
        if passed > rank:
            break
    return index
