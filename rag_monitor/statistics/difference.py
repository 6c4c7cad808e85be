"""Difference estimator: a cheap score on all traces, corrected by a judge on a designed sample.

Source: reference/statistics.md 3.2 (active statistical inference, Zrnic and Candes 2024). With
r = xi/pi: D_i = lam f_i + r_i (J_i - lam f_i); the estimate is mean(D), se = sd(D)/sqrt(N).
Unbiased for any lam that does not look at this window's labels; f must not be trained on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DifferenceEstimate:
    """The estimate with the tuning that was used."""

    value: float
    """May leave [0, 1]; clip only for display."""
    se: float
    lam: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceSums:
    """Sums over traces that make the difference estimate for any lam; windows add field by field.

    a = f (r - 1), b = J r, r = xi/pi; then D = b - lam a.
    """

    n: float = 0.0
    """All traces with a cheap score."""
    judged: float = 0.0
    a: float = 0.0
    b: float = 0.0
    aa: float = 0.0
    bb: float = 0.0
    ab: float = 0.0

    def estimate(self, lam: float = 1.0) -> DifferenceEstimate:
        """mean(D) and sd(D)/sqrt(n).

        Raises:
            ValueError: Fewer than two traces.
        """
        if self.n < 2:
            raise ValueError("a difference estimate needs two traces or more")
        total = self.b - lam * self.a
        squares = self.bb - 2.0 * lam * self.ab + lam * lam * self.aa
        mean = total / self.n
        variance = max(0.0, squares - self.n * mean * mean) / (self.n - 1)
        return DifferenceEstimate(mean, math.sqrt(variance / self.n), lam)

    def tuned_lam(self) -> float:
        """Cov(a, b)/Var(a), clipped to [0, 1]; 1 where there is nothing to tune on."""
        if self.n < 2 or self.judged == 0:
            return 1.0
        variance = self.aa - self.a * self.a / self.n
        if variance <= 1e-12:
            return 1.0
        covariance = self.ab - self.a * self.b / self.n
        return min(1.0, max(0.0, covariance / variance))
