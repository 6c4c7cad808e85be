"""What a cheap score can buy in labels, before buying any.

Source: reference/statistics.md 2. Gains are ratios of variances against the plain mean of uniform
labels. "Binormal": scores of good and bad traces are two normals of equal spread, calibrated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class Gain:
    """Squared correlation of score and label, and the variance gain it gives."""

    rho2: float
    gain: float


def label_leverage_bound(auc: float) -> float:
    """exp(inv_cdf(AUC)^2 / 2): more no calibrated binormal score saves, whatever the draw."""
    return math.exp(NormalDist().inv_cdf(auc) ** 2 / 2.0)


def binormal_ppi_gain(prevalence: float, auc: float) -> Gain:
    """Gain of PPI++ under uniform labels and many unlabelled traces: 1/(1 - rho^2)."""
    square = _expectation(prevalence, auc, lambda f: f * f)
    rho2 = (square - prevalence**2) / (prevalence * (1.0 - prevalence))
    return Gain(rho2, 1.0 / (1.0 - rho2))


def binormal_floored_gain(prevalence: float, auc: float, floor_share: float = 0.4) -> float:
    """Gain of designed sampling with a floor, small sampling fraction.

    p (1 - p) / E[u^2 / (s + (1 - s) u / E u)], u = sqrt(f (1 - f)), s the floor share.
    """
    mean = _expectation(prevalence, auc, lambda f: math.sqrt(f * (1.0 - f)))

    def cost(f: float) -> float:
        u2 = f * (1.0 - f)
        return u2 / (floor_share + (1.0 - floor_share) * math.sqrt(u2) / mean)

    return prevalence * (1.0 - prevalence) / _expectation(prevalence, auc, cost)


def binary_proxy_gain(prevalence: float, sensitivity: float, specificity: float) -> Gain:
    """Gain of PPI++ for human labels with a hard verdict as the score."""
    flagged = prevalence * sensitivity + (1.0 - prevalence) * (1.0 - specificity)
    covariance = prevalence * sensitivity - prevalence * flagged
    rho2 = covariance**2 / (prevalence * (1.0 - prevalence) * flagged * (1.0 - flagged))
    return Gain(rho2, 1.0 / (1.0 - rho2))


def _expectation(prevalence: float, auc: float, of: Callable[[float], float]) -> float:
    """E[of(P(bad | score))] by Simpson's rule over the mixture of the two normals."""
    shift = math.sqrt(2.0) * NormalDist().inv_cdf(auc)
    bad, good = NormalDist(shift, 1.0), NormalDist(0.0, 1.0)
    low, high, pieces = -9.0, shift + 9.0, 2000
    step = (high - low) / pieces
    total = 0.0
    for index in range(pieces + 1):
        x = low + index * step
        weight_bad = prevalence * bad.pdf(x)
        density = weight_bad + (1.0 - prevalence) * good.pdf(x)
        factor = 1.0 if index in {0, pieces} else (4.0 if index % 2 else 2.0)
        total += factor * density * of(weight_bad / density)
    return total * step / 3.0
