"""Intervals for figures of agreement where no resample differs from the data.

A judge that is right on all of 20 rows is right on every resample of them, too: the bootstrap then
gives a point, as if 20 rows proved perfection. Wilson's interval does not (reference/statistics.md
4.1), and what is made of shares gets its interval from theirs.

Sources: Zou and Donner 2008 (MOVER, mean of two shares); Newcombe 2006, method 5 (area under the
curve). `n` counts independent things: clusters, not the rows in them.
"""

from __future__ import annotations

import math
from typing import Final

from rag_monitor.statistics.wilson import Interval, wilson_interval, z_two_sided

_STEPS: Final = 60
"""Halvings of [0, 1]; more than a float can tell apart."""


def share_interval(share: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's interval of a share of `n` clusters."""
    return wilson_interval(min(float(n), share * n), n, confidence)


def mean_of_two_interval(
    first: tuple[float, int], second: tuple[float, int], confidence: float = 0.95
) -> Interval:
    """The mean of two independent shares, each with the clusters behind it.

    Balanced accuracy is one, of the share found among the bad and that among the good.
    """
    (a, b) = (share_interval(*part, confidence) for part in (first, second))
    value = (first[0] + second[0]) / 2.0
    below = math.hypot(first[0] - a.lower, second[0] - b.lower) / 2.0
    above = math.hypot(a.upper - first[0], b.upper - second[0]) / 2.0
    return Interval(max(0.0, value - below), min(1.0, value + above))


def f1_interval(f1: float, n: int, confidence: float = 0.95) -> Interval:
    """F1 = 2 J / (1 + J), J being the share of right ones where either side says yes.

    Args:
        f1: The figure.
        n: Clusters with a row that either side calls positive.
        confidence: Two-sided level.
    """
    share = share_interval(f1 / (2.0 - f1), n, confidence)
    return Interval(*(2.0 * end / (1.0 + end) for end in (share.lower, share.upper)))


def kappa_interval(observed: float, chance: float, n: int, confidence: float = 0.95) -> Interval:
    """Cohen's kappa, the agreement that chance would give taken as known.

    Args:
        observed: Share of items both sides call the same.
        chance: What both sides' shares of each label give, below 1.
        n: Clusters.
        confidence: Two-sided level.
    """
    share = share_interval(observed, n, confidence)
    ends = ((end - chance) / (1.0 - chance) for end in (share.lower, share.upper))
    return Interval(*(max(-1.0, end) for end in ends))


def auroc_interval(
    value: float, positives: int, negatives: int, confidence: float = 0.95
) -> Interval:
    """The area under the curve, by the variance that it would have at either end.

    Args:
        value: The area, 0 to 1.
        positives: Clusters with a positive, at least one.
        negatives: Clusters with a negative, at least one.
        confidence: Two-sided level.
    """
    z2 = z_two_sided(confidence) ** 2
    more = (positives + negatives) / 2.0 - 1.0

    def within(area: float) -> bool:
        spread = 1.0 + more * (1.0 - area) / (2.0 - area) + more * area / (1.0 + area)
        variance = area * (1.0 - area) * spread / (positives * negatives)
        return (area - value) ** 2 <= z2 * variance

    def end(outside: float) -> float:
        inside = value
        for _ in range(_STEPS):
            middle = (inside + outside) / 2.0
            inside, outside = (middle, outside) if within(middle) else (inside, middle)
        return inside

    return Interval(0.0 if value == 0.0 else end(0.0), 1.0 if value == 1.0 else end(1.0))
