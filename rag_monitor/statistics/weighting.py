"""Design-based means of traces that were judged with known probabilities.

Source: reference/statistics.md 3.2; Horvitz and Thompson 1952, Hajek 1971, Kish 1965. Assumes
Poisson sampling: every trace is drawn on its own with its stored probability pi > 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rag_monitor.statistics.moments import MeanEstimate


def horvitz_thompson_mean(
    y: Sequence[float | None], pi: Sequence[float], sampled: Sequence[bool | int]
) -> float:
    """mean(y xi / pi) over all traces; unbiased, noisier than `hajek_mean`.

    Args:
        y: The judge's value; read only where sampled.
        pi: Probability of judging each trace, in (0, 1].
        sampled: The draw.
    """
    check_design(pi, sampled)
    return sum(observed(v, d) / p for v, p, d in zip(y, pi, sampled, strict=True)) / len(pi)


def hajek_mean(
    y: Sequence[float | None], pi: Sequence[float], sampled: Sequence[bool | int]
) -> MeanEstimate:
    """sum(r y)/sum(r), r = xi/pi: slightly biased, usually lower variance.

    The standard error is linearised for the finite list of traces:
    sqrt(sum (1 - pi) r^2 (y - m)^2) / sum r.

    Raises:
        ValueError: Nothing was sampled.
    """
    check_design(pi, sampled)
    drawn = [(1.0 / p, observed(v, d)) for v, p, d in zip(y, pi, sampled, strict=True) if d]
    weight = sum(w for w, _ in drawn)
    if not drawn:
        raise ValueError("no trace was sampled: there is no mean")
    mean = sum(w * v for w, v in drawn) / weight
    spread = sum((1.0 - 1.0 / w) * (w * (v - mean)) ** 2 for w, v in drawn)
    return MeanEstimate(mean, math.sqrt(spread) / weight)


def kish_effective_size(weights: Sequence[float]) -> float:
    """(sum w)^2 / sum w^2 over judged traces: what unequal weights leave of their number."""
    squares = sum(w * w for w in weights)
    if squares <= 0:
        raise ValueError("an effective size needs positive weights")
    return sum(weights) ** 2 / squares


def check_design(pi: Sequence[float], sampled: Sequence[bool | int]) -> None:
    """Refuse a design without traces, of unequal lengths or with impossible probabilities."""
    if not pi or len(pi) != len(sampled):
        raise ValueError("a design needs one probability and one draw per trace")
    if not all(0.0 < p <= 1.0 for p in pi):
        raise ValueError("sampling probabilities lie in (0, 1]")


def observed(value: float | None, drawn: bool | int) -> float:
    """The value of a drawn trace; 0 for one that was not drawn (its weight is 0)."""
    if not drawn:
        return 0.0
    if value is None:
        raise ValueError("a drawn trace needs a value; drop failed judgements from the design")
    return value
