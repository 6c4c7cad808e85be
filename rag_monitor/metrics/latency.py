"""Latency percentiles, interpolated from histograms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""Names of the percentiles that are reported, and the shares they stand for."""


def bucket_of(value: float, bounds: Sequence[float]) -> int:
    """Index of the first bucket whose upper bound is at least `value`; the last one is open."""
    return bisect_left(bounds, value)


def histogram_percentile(
    counts: Sequence[int], bounds: Sequence[float], share: float
) -> float | None:
    """The `share` quantile of a histogram, interpolated linearly inside its bucket.

    Args:
        counts: Per bucket, not cumulative; one more than `bounds`, the last bucket is open.
        bounds: Upper bounds, rising; the first bucket starts at 0.
        share: 0 to 1.

    Returns:
        A value in the unit of `bounds`; the highest bound when the quantile lies in the open
        bucket (as Prometheus' `histogram_quantile`); None without counts.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a percentile is asked for as a share from 0 to 1, not {share}")
    total = sum(counts)
    if total == 0:
        return None
    target = share * total
    passed = 0
    for index, count in enumerate(counts[: len(bounds)]):
        if count and passed + count >= target:
            lower = bounds[index - 1] if index else 0.0
            return lower + (bounds[index] - lower) * max(0.0, target - passed) / count
        passed += count
    return bounds[-1]
