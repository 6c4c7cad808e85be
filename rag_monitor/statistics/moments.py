"""Means, their standard errors, and the t interval of a small sample.

Errors come from sums, so that windows add up from minutes, or from a grouped jackknife for figures
that are no mean (corpus BLEU, macro F1; Quenouille 1949; Shao and Tu 1995, chapter 2). Rows are
dealt to G groups; with t(g) the figure without group g, se² = (G - 1)/G · sum (t(g) - mean t)².

Student 1908: the distribution function by the continued fraction of the incomplete beta function
(NIST DLMF 8.17.22). It assumes independent values that are roughly normal; of a few skewed values
it covers the mean less often than stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

from rag_monitor.statistics.wilson import Interval, z_two_sided


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


_NORMAL_FROM: Final = 1_000
"""With so many degrees of freedom the two quantiles differ by less than 0.2 %."""
_STEPS: Final = 300
_TINY: Final = 1e-300
_CLOSE: Final = 1e-14


def t_interval(mean: MeanEstimate, n: int, confidence: float = 0.95) -> Interval:
    """The two-sided interval of a mean of `n` values, at least two.

    Raises:
        ValueError: Fewer than two values, or no confidence.
    """
    if n < 2:
        raise ValueError(f"Student's t interval needs two values or more, not {n}")
    reach = t_two_sided(confidence, n - 1) * mean.se
    return Interval(mean.value - reach, mean.value + reach)


def t_p_value(value: float, towards_zero: float, n: int, confidence: float = 0.95) -> float:
    """The two-sided p-value of "no difference" of a mean of `n` values with its interval.

    Args:
        value: The mean.
        towards_zero: From the mean to the end of its interval on the side of zero.
        n: Values, at least two.
        confidence: Of the interval.
    """
    if value == 0.0:
        return 1.0
    if towards_zero <= 0.0:
        return 0.0
    t = abs(value) / towards_zero * t_two_sided(confidence, n - 1)
    if n - 1 >= _NORMAL_FROM:
        return 2.0 * NormalDist().cdf(-t)
    return _outside(t, n - 1)


@lru_cache(maxsize=256)
def t_two_sided(confidence: float, degrees: int) -> float:
    """The quantile that leaves (1 - confidence)/2 on each side; 12.706 at 0.95 and 1 degree."""
    normal = z_two_sided(confidence)
    if degrees >= _NORMAL_FROM:
        return normal
    outside = 1.0 - confidence
    low, high = normal, 2.0 * normal
    while _outside(high, degrees) > outside:
        high *= 2.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if _outside(middle, degrees) > outside else (low, middle)
    return (low + high) / 2.0


def _outside(t: float, degrees: int) -> float:
    """P(|T| > t)."""
    return _incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, for x below (a + 1)/(a + b + 2) or the mirror."""
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _incomplete_beta(b, a, 1.0 - x)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logs + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 0.0
    fraction = 1.0
    for step in range(_STEPS):
        m = step // 2
        if step == 0:
            part = 1.0
        elif step % 2:
            part = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            part = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / _away_from_zero(1.0 + part * d)
        c = _away_from_zero(1.0 + part / c)
        fraction *= c * d
        if step and abs(1.0 - c * d) < _CLOSE:
            break
    return front * (fraction - 1.0)


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
