"""Probabilities that mean what they say: Platt and isotonic maps, and how to measure the rest.

Sources: Platt 1999 with the Newton method of Lin, Lin and Weng 2007; pool-adjacent-violators (Ayer
et al. 1955); reference/judging.md 2.6. Platt from 100 labels, isotonic from 1,000; under designed
sampling fit with weights 1/pi, on earlier windows only.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_EDGE: Final = 1e-6
"""Probabilities are kept this far from 0 and 1 before their logit is taken."""


@dataclass(frozen=True, slots=True)
class Platt:
    """p -> sigmoid(slope * logit(p) + intercept)."""

    slope: float
    intercept: float

    def apply(self, p: float) -> float:
        """The calibrated probability."""
        return _sigmoid(self.slope * logit(p) + self.intercept)


def fit_platt(
    p: Sequence[float],
    y: Sequence[bool | int],
    weights: Sequence[float] | None = None,
) -> Platt:
    """Fit slope and intercept by maximum likelihood with Platt's smoothed targets.

    Args:
        p: Raw probabilities.
        y: Labels, both classes.
        weights: 1/pi per label; None: all alike.

    Raises:
        ValueError: Only one class, or lengths differ.
    """
    w = _weights(p, y, weights)
    positive = sum(wi for wi, yi in zip(w, y, strict=True) if yi)
    negative = sum(w) - positive
    if positive <= 0.0 or negative <= 0.0:
        raise ValueError("calibration needs labels of both classes")
    high, low = (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0)
    rows = [(logit(pi), high if yi else low, wi) for pi, yi, wi in zip(p, y, w, strict=True)]
    slope, intercept = 0.0, math.log((positive + 1.0) / (negative + 1.0))
    loss = _loss(rows, slope, intercept)
    for _ in range(100):
        d_slope, d_intercept = _newton(rows, slope, intercept)
        step = 1.0
        while step > 1e-10:
            moved = _loss(rows, slope + step * d_slope, intercept + step * d_intercept)
            if moved <= loss:
                break
            step /= 2.0
        slope, intercept = slope + step * d_slope, intercept + step * d_intercept
        if loss - moved < 1e-14 * max(1.0, loss):
            break
        loss = moved
    return Platt(slope, intercept)


def _newton(
    rows: Sequence[tuple[float, float, float]], slope: float, intercept: float
) -> tuple[float, float]:
    g1 = g0 = h11 = h10 = h00 = 0.0
    for x, target, weight in rows:
        q = _sigmoid(slope * x + intercept)
        error, spread = weight * (q - target), weight * q * (1.0 - q)
        g1 += error * x
        g0 += error
        h11 += spread * x * x
        h10 += spread * x
        h00 += spread
    # A ridge keeps the step finite when all raw probabilities are the same.
    h11, h00 = h11 + 1e-10, h00 + 1e-10
    determinant = h11 * h00 - h10 * h10
    return -(h00 * g1 - h10 * g0) / determinant, -(h11 * g0 - h10 * g1) / determinant


def _loss(rows: Sequence[tuple[float, float, float]], slope: float, intercept: float) -> float:
    total = 0.0
    for x, target, weight in rows:
        z = slope * x + intercept
        total += weight * (max(z, 0.0) - z * target + math.log1p(math.exp(-abs(z))))
    return total


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A rising step function with straight lines between its points."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def apply(self, p: float) -> float:
        """The calibrated probability; beyond the fitted range the nearest point's."""
        place = bisect_left(self.x, p)
        if place == 0:
            return self.y[0]
        if place == len(self.x):
            return self.y[-1]
        left, right = self.x[place - 1], self.x[place]
        share = (p - left) / (right - left)
        return self.y[place - 1] + share * (self.y[place] - self.y[place - 1])


def fit_isotonic(
    p: Sequence[float],
    y: Sequence[bool | int],
    weights: Sequence[float] | None = None,
) -> Isotonic:
    """The weighted least-squares rising fit (pool adjacent violators)."""
    w = _weights(p, y, weights)
    merged: dict[float, tuple[float, float]] = {}
    for pi, yi, wi in zip(p, y, w, strict=True):
        weight, total = merged.get(pi, (0.0, 0.0))
        merged[pi] = (weight + wi, total + wi * yi)
    blocks: list[tuple[float, float, float, float]] = []
    for x in sorted(merged):
        weight, total = merged[x]
        blocks.append((x, x, weight, total))
        while len(blocks) > 1 and _level(blocks[-2]) >= _level(blocks[-1]):
            last, before = blocks.pop(), blocks.pop()
            blocks.append((before[0], last[1], before[2] + last[2], before[3] + last[3]))
    xs: list[float] = []
    ys: list[float] = []
    for block in blocks:
        for x in dict.fromkeys((block[0], block[1])):
            xs.append(x)
            ys.append(_level(block))
    return Isotonic(tuple(xs), tuple(ys))


def _level(block: tuple[float, float, float, float]) -> float:
    return block[3] / block[2]


def ece_equal_mass(p: Sequence[float], y: Sequence[bool | int], bins: int = 10) -> float:
    """Expected calibration error: sum_b n_b/n |mean p - mean y| over bins of equal size."""
    n = len(p)
    if n != len(y) or not n or bins < 1:
        raise ValueError("calibration error needs one label per probability and a bin")
    order = sorted(range(n), key=lambda index: p[index])
    bins = min(bins, n)
    error = 0.0
    for place in range(bins):
        members = order[place * n // bins : (place + 1) * n // bins]
        gap = sum(p[index] - y[index] for index in members)
        error += abs(gap) / n
    return error


def brier(p: Sequence[float], y: Sequence[bool | int]) -> float:
    """Mean (p - y)^2: calibration and sharpness in one number, smaller is better."""
    if len(p) != len(y) or not p:
        raise ValueError("the Brier score needs one label per probability")
    return sum((pi - yi) ** 2 for pi, yi in zip(p, y, strict=True)) / len(p)


def logit(p: float) -> float:
    """log(p / (1 - p)), p kept away from 0 and 1."""
    inside = min(1.0 - _EDGE, max(_EDGE, p))
    return math.log(inside / (1.0 - inside))


def _sigmoid(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def _weights(
    p: Sequence[float], y: Sequence[bool | int], weights: Sequence[float] | None
) -> Sequence[float]:
    w = [1.0] * len(p) if weights is None else weights
    if not p or not len(p) == len(y) == len(w):
        raise ValueError("calibration needs one label and one weight per probability")
    if not all(wi > 0.0 for wi in w):
        raise ValueError("weights are positive")
    return w
