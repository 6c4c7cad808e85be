"""Comparing estimates: the interval of a difference, its p-value, and many p-values at once.

Source: Newcombe 1998 (method 10), generalised as MOVER by Zou and Donner 2008; Altman and Bland
2011, "How to obtain the P value from a confidence interval"; Benjamini and Hochberg 1995. A
difference assumes that the two estimates rest on different traces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from rag_monitor.statistics.wilson import Interval, z_two_sided


def mover_difference(
    first: float, first_interval: Interval, second: float, second_interval: Interval
) -> Interval:
    """The interval of first - second, at the confidence the two intervals have."""
    value = first - second
    below = math.hypot(first - first_interval.lower, second_interval.upper - second)
    above = math.hypot(first_interval.upper - first, second - second_interval.lower)
    return Interval(value - below, value + above)


def p_from_interval(value: float, interval: Interval, confidence: float = 0.95) -> float:
    """The two-sided p-value of "no difference" that belongs to a difference and its interval.

    Below 1 - confidence exactly where the interval leaves zero out: the end that lies towards zero
    is as many standard errors away as the confidence says.
    """
    towards_zero = value - interval.lower if value > 0.0 else interval.upper - value
    if value == 0.0:
        return 1.0
    if towards_zero <= 0.0:
        return 0.0
    return 2.0 * NormalDist().cdf(-abs(value) / towards_zero * z_two_sided(confidence))


@dataclass(frozen=True, slots=True)
class AdjustedP:
    """Adjusted p-values in the order given, and which are at most alpha."""

    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]


def benjamini_hochberg(p: Sequence[float], alpha: float = 0.05) -> AdjustedP:
    """False discovery rate for independent or positively dependent p-values. One-shot only."""
    m = len(p)
    adjusted = [0.0] * m
    least = 1.0
    ranked = sorted(range(m), key=lambda index: p[index])
    for rank, index in reversed(list(enumerate(ranked, start=1))):
        least = min(least, p[index] * m / rank)
        adjusted[index] = least
    return AdjustedP(tuple(adjusted), tuple(value <= alpha for value in adjusted))
