"""Means and standard errors: from sums, so that windows add up from minutes; from a jackknife.

Source of the grouped jackknife, for figures that are no mean (corpus BLEU, macro F1): Quenouille
1949; Shao and Tu 1995, chapter 2. Rows are dealt to G groups; with t(g) the figure without group g,
se² = (G - 1)/G · sum (t(g) - mean t)².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A point estimate with its standard error."""

    value: float
    se: float


def mean_from_sums(count: float, total: float, squares: float) -> MeanEstimate:
    """Mean and se (n - 1 variance) of `count` values with sum and sum of squares.

    One value has no measurable spread: its se is 0, and the effective size falls back on the count.
    """
    if count <= 0:
        raise ValueError("a mean needs at least one value")
    mean = total / count
    if count <= 1:
        return MeanEstimate(mean, 0.0)
    variance = max(0.0, squares - count * mean * mean) / (count - 1)
    return MeanEstimate(mean, math.sqrt(without_noise(variance, squares) / count))


def hajek_from_sums(
    count: float,
    weight: float,
    weighted_total: float,
    weight_squares: float,
    w2_total: float,
    w2_squares: float,
) -> MeanEstimate:
    """The Hajek mean sum(w y)/sum(w), w = 1/pi, with its linearised standard error.

    The error is that of traffic drawn from a stream, not of a finite list of traces:
    se^2 = n/(n-1) * sum w^2 (y - m)^2 / (sum w)^2; with equal weights it is the plain one.

    Args:
        count: Judged traces.
        weight: sum w.
        weighted_total: sum w y.
        weight_squares: sum w^2.
        w2_total: sum w^2 y.
        w2_squares: sum w^2 y^2.
    """
    if count <= 0 or weight <= 0:
        raise ValueError("a mean needs at least one value")
    mean = weighted_total / weight
    if count <= 1:
        return MeanEstimate(mean, 0.0)
    spread = max(0.0, w2_squares - 2.0 * mean * w2_total + mean * mean * weight_squares)
    spread = without_noise(spread, w2_squares)
    return MeanEstimate(mean, math.sqrt(count / (count - 1) * spread) / weight)


def without_noise(variance: float, squares: float) -> float:
    """Cancellation leaves about 1e-16 of the squares; that is no spread."""
    return 0.0 if variance <= 1e-13 * max(1.0, squares) else variance


def jackknife_se(without: Sequence[float]) -> float:
    """Standard error from the figure computed with each group left out.

    Raises:
        ValueError: Fewer than two groups.
    """
    groups = len(without)
    if groups < 2:
        raise ValueError("a jackknife needs two groups or more")
    mean = math.fsum(without) / groups
    spread = math.fsum((value - mean) ** 2 for value in without)
    return math.sqrt((groups - 1) / groups * spread)
