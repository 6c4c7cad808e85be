"""Confidence sequences: bands that hold at every moment, however often one looks.

Source: reference/statistics.md 4.4 and 4.5 (Waudby-Smith and Ramdas, arXiv 2010.09686;
Waudby-Smith et al., arXiv 2103.06476). For the dashboard band. They track the mean over all
history, so a recent drop is diluted: alerts come from `detectors`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rag_monitor.statistics.wilson import Interval


class EmpiricalBernstein:
    """Running bounds for the mean of values in [0, 1], one value at a time.

    Assumes a constant conditional mean (under drift: the running average of conditional means) and
    a uniform sample; use the traces with u < pi_min of a designed one.

    Args:
        alpha: 1 - confidence, two-sided.
        truncation: Largest bet.
    """

    def __init__(self, alpha: float = 0.05, truncation: float = 0.5) -> None:
        self._log = math.log(2.0 / alpha)
        self._truncation = truncation
        self._count = 0
        self._total = 0.0
        self._spread = 0.25
        self._variance = 0.25
        self._bets = 0.0
        self._won = 0.0
        self._lost = 0.0
        self._penalty_low = 0.0
        self._penalty_high = 0.0

    def add(self, x: float) -> None:
        """Take the next value.

        Raises:
            ValueError: It is not in [0, 1].
        """
        if not 0.0 <= x <= 1.0:
            raise ValueError(f"a confidence sequence for [0, 1] cannot take {x}")
        t = self._count + 1
        bet = min(
            self._truncation,
            math.sqrt(2.0 * self._log / (self._variance * t * math.log(1.0 + t))),
        )
        psi = -math.log(1.0 - bet) - bet
        low_mean = self._total / self._count if self._count else 0.0
        high_mean = (self._count - self._total) / self._count if self._count else 0.0
        self._bets += bet
        self._won += bet * x
        self._lost += bet * (1.0 - x)
        self._penalty_low += (x - low_mean) ** 2 * psi
        self._penalty_high += (1.0 - x - high_mean) ** 2 * psi
        self._count = t
        self._total += x
        regularised = (0.5 + self._total) / (t + 1)
        self._spread += (x - regularised) ** 2
        self._variance = self._spread / (t + 1)

    @property
    def interval(self) -> Interval:
        """The band now; the whole of [0, 1] before the first value."""
        if not self._count:
            return Interval(0.0, 1.0)
        low = (self._won - self._log - self._penalty_low) / self._bets
        high = (self._lost - self._log - self._penalty_high) / self._bets
        return Interval(max(0.0, low), min(1.0, 1.0 - high))


def asymptotic_lower(x: Sequence[float], rho: float = 0.25, delta: float = 0.05) -> float:
    """Lower side of the asymptotic confidence sequence for the running mean, after all of `x`.

    Args:
        x: Values so far, at least one.
        rho: Tunes where the band is tightest.
        delta: One-sided error.
    """
    t = len(x)
    if not t:
        raise ValueError("a running mean needs at least one value")
    mean = sum(x) / t
    spread = sum((v - mean) ** 2 for v in x)
    scale = spread * rho * rho + 1.0
    width = 2.0 * scale / (t * t * rho * rho) * math.log(1.0 + math.sqrt(scale) / (2.0 * delta))
    return mean - math.sqrt(width)
