"""Many streams, many tests: which of them to believe.

Source: reference/statistics.md 6; Benjamini and Hochberg 1995, Benjamini and Yekutieli 2001, Wang
and Ramdas (e-BH, arXiv 2009.02824), Dandapanthula and Ramdas (e-d-BH, arXiv 2501.04130).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EbhResult:
    """Which e-values are large enough together."""

    k: int
    rejected: tuple[int, ...]
    """Positions in the input, rising."""
    scores_sorted: tuple[float, ...]
    """k e_(k) / m, e-values from the largest."""


def e_bh(e: Sequence[float], alpha: float) -> EbhResult:
    """e-BH: reject the k* largest, k* = max{k: k e_(k)/m >= 1/alpha}.

    On detector values of streams with one shared clock this is e-d-BH: it bounds false alarms per
    time (error over patience) by alpha, under any dependence. With one stream it is the threshold
    A = 1/alpha.
    """
    if not 0.0 < alpha <= 1.0:
        raise ValueError(f"alpha lies in (0, 1], not {alpha}")
    order = sorted(range(len(e)), key=lambda index: (-e[index], index))
    scores = tuple(rank * e[index] / len(e) for rank, index in enumerate(order, start=1))
    k = max((rank for rank, s in enumerate(scores, start=1) if s >= 1.0 / alpha), default=0)
    return EbhResult(k, tuple(sorted(order[:k])), scores)


@dataclass(frozen=True, slots=True)
class AdjustedP:
    """Adjusted p-values in the order given, and which are at most alpha."""

    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]


def benjamini_hochberg(p: Sequence[float], alpha: float = 0.05) -> AdjustedP:
    """False discovery rate for independent or positively dependent p-values. One-shot only."""
    return _step_up(p, alpha, 1.0)


def benjamini_yekutieli(p: Sequence[float], alpha: float = 0.05) -> AdjustedP:
    """False discovery rate under any dependence: a factor sum 1/i stricter. One-shot only."""
    return _step_up(p, alpha, sum(1.0 / i for i in range(1, len(p) + 1)))


def _step_up(p: Sequence[float], alpha: float, factor: float) -> AdjustedP:
    m = len(p)
    adjusted = [0.0] * m
    least = 1.0
    ranked = sorted(range(m), key=lambda index: p[index])
    for rank, index in reversed(list(enumerate(ranked, start=1))):
        least = min(least, p[index] * m / rank * factor)
        adjusted[index] = least
    return AdjustedP(tuple(adjusted), tuple(value <= alpha for value in adjusted))
