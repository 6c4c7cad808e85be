"""Wilson score intervals for a proportion, with real-valued counts.

Source: Wilson 1927; reference/statistics.md 4.1. Assumes independent draws with one success
probability; real-valued counts carry the effective sample size of a weighted estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of an interval, inclusive."""

    lower: float
    upper: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float)) and self.lower <= value <= self.upper

    @property
    def width(self) -> float:
        """Upper minus lower."""
        return self.upper - self.lower


@lru_cache(maxsize=64)
def z_two_sided(confidence: float) -> float:
    """The normal quantile that leaves (1 - confidence)/2 on each side; 1.96 at 0.95."""
    _check_confidence(confidence)
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)


@lru_cache(maxsize=64)
def z_one_sided(confidence: float) -> float:
    """The normal quantile that leaves 1 - confidence on one side; 3.0902 at 0.999."""
    _check_confidence(confidence)
    return NormalDist().inv_cdf(confidence)


def wilson_interval(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """The two-sided interval for a proportion of `successes` in `n`.

    Args:
        successes: 0 to `n`, need not be whole.
        n: Draws, more than 0, need not be whole.
        confidence: Two-sided level, e.g. 0.95.
    """
    return _bounds(successes, n, z_two_sided(confidence))


def wilson_lower(successes: float, n: float, confidence: float = 0.999) -> float:
    """The one-sided lower bound: the proportion is above it with `confidence`."""
    return _bounds(successes, n, z_one_sided(confidence)).lower


def _bounds(successes: float, n: float, z: float) -> Interval:
    if not (n > 0 and 0 <= successes <= n):
        raise ValueError(f"a Wilson interval needs 0 <= successes <= n, n > 0: {successes} of {n}")
    z2 = z * z
    centre = (successes + z2 / 2.0) / (n + z2)
    half = z / (n + z2) * math.sqrt(successes * (n - successes) / n + z2 / 4.0)
    # Floating point leaves 1e-17 where the algebra says exactly 0 and 1.
    lower = 0.0 if successes == 0 else max(0.0, centre - half)
    upper = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(lower, upper)


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence is a share between 0 and 1, not {confidence}")
