"""Difference estimator: a cheap score on all traces, corrected by a judge on a designed sample.

Source: reference/statistics.md 3.2 (active statistical inference, Zrnic and Candes 2024). With
r = xi/pi: D_i = lam f_i + r_i (J_i - lam f_i); the estimate is mean(D), se = sd(D)/sqrt(N).
Unbiased for any lam that does not look at this window's labels; f must not be trained on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_monitor.statistics.effective import CLIP, EffectiveInterval, effective_wilson
from rag_monitor.statistics.weighting import check_design, observed


@dataclass(frozen=True, slots=True)
class DifferenceEstimate:
    """The estimate with the tuning that was used."""

    value: float
    """May leave [0, 1]; clip only for display."""
    se: float
    lam: float
    pseudo_outcomes: tuple[float, ...] = ()


def difference_mean(
    f: Sequence[float],
    y: Sequence[float | None],
    pi: Sequence[float],
    sampled: Sequence[bool | int],
    lam: float = 1.0,
) -> DifferenceEstimate:
    """mean(D) with its standard error over all traces (two or more)."""
    check_design(pi, sampled)
    outcomes = tuple(
        lam * fi + ((observed(yi, d) - lam * fi) / p if d else 0.0)
        for fi, yi, p, d in zip(f, y, pi, sampled, strict=True)
    )
    return DifferenceEstimate(*_mean_se(outcomes), lam, outcomes)


def tuned_lam(
    f: Sequence[float],
    y: Sequence[float | None],
    pi: Sequence[float],
    sampled: Sequence[bool | int],
    *,
    clip: bool = True,
) -> float:
    """The tuning Cov(a, b)/Var(a), a = f (r - 1), b = y r: least variance.

    Take it from the previous window. Clipped to [0, 1] by default: unclipped tuning inside the
    window covers as little as 79%. A score that does not vary has lam 0.
    """
    check_design(pi, sampled)
    ratios = [(1.0 / p if d else 0.0) for p, d in zip(pi, sampled, strict=True)]
    a = [fi * (r - 1.0) for fi, r in zip(f, ratios, strict=True)]
    b = [observed(yi, d) * r for yi, d, r in zip(y, sampled, ratios, strict=True)]
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    variance = sum((x - mean_a) ** 2 for x in a)
    if variance <= 0.0:
        return 0.0
    lam = sum((x - mean_a) * (v - mean_b) for x, v in zip(a, b, strict=True)) / variance
    return min(1.0, max(0.0, lam)) if clip else lam


def difference_effective_wilson(
    estimate: DifferenceEstimate,
    judged: float,
    confidence: float = 0.95,
    clip: tuple[float, float] = CLIP,
) -> EffectiveInterval:
    """The effective-count Wilson interval of a difference estimate."""
    return effective_wilson(estimate.value, estimate.se, judged, confidence, clip)


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


def _mean_se(values: Sequence[float]) -> tuple[float, float]:
    n = len(values)
    if n < 2:
        raise ValueError("a difference estimate needs two traces or more")
    mean = sum(values) / n
    variance = sum((v - mean) ** 2 for v in values) / (n - 1)
    return mean, math.sqrt(variance / n)
