"""Prediction-powered mean (PPI++): few labels, a cheap score on everything.

Source: reference/statistics.md 3.1 (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453). Assumes that
the labelled traces are a uniform random sample of the same traffic, disjoint from the unlabelled
ones, and that the score was not trained on them. Below about 50 labels or 10 of a class use
`ppi_effective_wilson`, not the normal interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_monitor.statistics.effective import EffectiveInterval, gain_wilson
from rag_monitor.statistics.wilson import Interval, z_two_sided


@dataclass(frozen=True, slots=True)
class PpiEstimate:
    """The estimate, its standard error and the trust in the score that was used."""

    value: float
    """May leave [0, 1]; clip only for display."""
    se: float
    lam: float
    plain_variance: float
    """Var(Y)/n: the squared standard error of the mean of the labels alone."""
    labelled: int

    def normal_interval(self, confidence: float = 0.95) -> Interval:
        """Estimate -+ z se; covers too little when bad answers are rare."""
        half = z_two_sided(confidence) * self.se
        return Interval(self.value - half, self.value + half)


def ppi_mean(
    y_labelled: Sequence[float],
    f_labelled: Sequence[float],
    f_unlabelled: Sequence[float],
    lam: float | None = None,
    *,
    variance_ddof: int = 1,
    covariance_ddof: int = 1,
) -> PpiEstimate:
    """mean_L(Y) + lam (mean_U(f) - mean_L(f)).

    Args:
        y_labelled: Labels.
        f_labelled: The score on the labelled traces, in the same order.
        f_unlabelled: The score on the other traces.
        lam: Trust in the score; None tunes it for least variance, clipped to [0, 1].
        variance_ddof: 1 in the product; 0 reproduces ppi-python.
        covariance_ddof: The same, for the covariance in the tuning.
    """
    n, rest = len(y_labelled), len(f_unlabelled)
    if n < 2 or rest < 2 or len(f_labelled) != n:
        raise ValueError("PPI needs two labelled and two unlabelled traces, with a score on each")
    if lam is None:
        lam = ppi_lam(y_labelled, f_labelled, f_unlabelled, covariance_ddof=covariance_ddof)
    value = _mean(y_labelled) + lam * (_mean(f_unlabelled) - _mean(f_labelled))
    residuals = [y - lam * f for y, f in zip(y_labelled, f_labelled, strict=True)]
    variance = (
        _variance(residuals, variance_ddof) / n
        + lam * lam * _variance(f_unlabelled, variance_ddof) / rest
    )
    plain = _variance(y_labelled, variance_ddof) / n
    return PpiEstimate(value, math.sqrt(variance), lam, plain, n)


def ppi_lam(
    y_labelled: Sequence[float],
    f_labelled: Sequence[float],
    f_unlabelled: Sequence[float],
    *,
    covariance_ddof: int = 1,
) -> float:
    """The tuning Cov_L(Y, f) / ((1 + n/N) Var(f)), clipped to [0, 1]; 0 for a constant score."""
    n = len(y_labelled)
    mean_y, mean_f = _mean(y_labelled), _mean(f_labelled)
    covariance = sum(
        (y - mean_y) * (f - mean_f) for y, f in zip(y_labelled, f_labelled, strict=True)
    ) / (n - covariance_ddof)
    pooled = _variance([*f_labelled, *f_unlabelled], 1)
    if pooled <= 0.0:
        return 0.0
    return min(1.0, max(0.0, covariance / ((1.0 + n / len(f_unlabelled)) * pooled)))


def ppi_effective_wilson(
    estimate: PpiEstimate, confidence: float = 0.95, clip: tuple[float, float] = (1.0, 4.0)
) -> EffectiveInterval:
    """The effective-count Wilson interval of a PPI++ estimate."""
    return gain_wilson(
        estimate.value,
        estimate.se,
        estimate.plain_variance,
        estimate.labelled,
        confidence,
        clip,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _variance(values: Sequence[float], ddof: int) -> float:
    mean = _mean(values)
    return sum((v - mean) ** 2 for v in values) / (len(values) - ddof)
