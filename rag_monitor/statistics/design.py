"""How often to judge: sampling probabilities and the cost-optimal rate.

Source: reference/statistics.md 3.2 and 3.4 (Zrnic and Candes 2024; arXiv 2506.07949).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SamplingProbabilities:
    """pi_i = min(1, pi_min + c sqrt(f_i (1 - f_i)))."""

    pi_min: float
    c: float
    pi: tuple[float, ...]


def uncertainty(f: float) -> float:
    """sqrt(f (1 - f)): the standard deviation of a label whose probability is `f`."""
    inside = min(1.0, max(0.0, f))
    return math.sqrt(inside * (1.0 - inside))


def sampling_probabilities(
    f: Sequence[float], rate: float, floor_share: float = 0.4
) -> SamplingProbabilities:
    """Probabilities with mean `rate` that favour uncertain scores over a floor.

    Args:
        f: Cheap scores, read as probabilities.
        rate: Wanted share of judged traces, in (0, 1].
        floor_share: pi_min / rate. Over-confident scores starve the traces that carry the
            surprise; the floor is their share.
    """
    if not (f and 0.0 < rate <= 1.0 and 0.0 < floor_share <= 1.0):
        raise ValueError("needs scores, a rate in (0, 1] and a floor share in (0, 1]")
    floor = floor_share * rate
    g = sorted((uncertainty(score) for score in f), reverse=True)
    c = _slope(g, rate, floor)
    return SamplingProbabilities(
        floor, c, tuple(min(1.0, floor + c * uncertainty(score)) for score in f)
    )


def _slope(g: Sequence[float], rate: float, floor: float) -> float:
    """The c with mean(min(1, floor + c g)) = rate, trying saturation sets from none upward."""
    n = len(g)
    rest = sum(g)
    if rest <= 0.0:
        return 0.0
    for saturated in range(n):
        c = max(0.0, (n * rate - saturated - (n - saturated) * floor) / rest)
        if floor + c * g[saturated] <= 1.0 + 1e-15:
            return c
        rest -= g[saturated]
        if rest <= 1e-15:
            return c
    return c


@dataclass(frozen=True, slots=True)
class CostOptimalPolicy:
    """pi = min(1, gamma u)."""

    gamma: float
    saturated_share: float
    """Share of traces that are always judged."""
    mean_pi: float


def cost_optimal_policy(
    conditional_rmse_counts: Sequence[tuple[float, float]],
    var_y: float,
    cost_cheap: float,
    cost_judge: float,
) -> CostOptimalPolicy:
    """The rate that minimises cost times variance. Advice, not the live draw.

    gamma^2 = (c_f/c_J + P(u > tau)) / (Var Y - E[u^2; u <= tau]), tau = 1/gamma.

    Args:
        conditional_rmse_counts: Pairs of (error of the cheap score, number of traces).
        var_y: Variance of the judge's values.
        cost_cheap: Cost of one cheap score.
        cost_judge: Cost of one judgement, in the same unit.
    """
    total = sum(count for _, count in conditional_rmse_counts)
    levels = sorted(conditional_rmse_counts, reverse=True)
    gamma = math.inf
    share = 0.0
    for cut in range(len(levels) + 1):
        share = sum(count for _, count in levels[:cut]) / total
        explained = var_y - sum(u * u * count for u, count in levels[cut:]) / total
        if explained > 0.0:
            gamma = math.sqrt((cost_cheap / cost_judge + share) / explained)
            if all(gamma * u <= 1.0 + 1e-12 for u, _ in levels[cut:]):
                break
    mean = sum(min(1.0, gamma * u) * count for u, count in levels) / total
    return CostOptimalPolicy(gamma, share, mean)
