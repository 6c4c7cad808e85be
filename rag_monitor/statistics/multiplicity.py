"""Many tests at once: which of them to believe (Benjamini and Hochberg 1995)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
