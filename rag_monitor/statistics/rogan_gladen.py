"""Rogan-Gladen: a flagged share corrected by the judge's sensitivity and specificity.

A diagnostic beside the estimates, not one of them: it needs both rates to be stable over time,
which is what drift breaks. Source: Rogan and Gladen 1978, Lang and Reiczigel 2014;
reference/statistics.md 3.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from rag_monitor.statistics.wilson import Interval, z_two_sided

MIN_YOUDEN: Final = 0.2
"""Sensitivity + specificity - 1 below this: the correction explodes and is refused."""


@dataclass(frozen=True, slots=True)
class RoganGladen:
    """The corrected share with both intervals."""

    value: float
    """Clipped to [0, 1]."""
    se: float
    wald: Interval
    lang_reiczigel: Interval
    """The one to show: Wald covers as little as .918."""


def rogan_gladen(
    flagged: int,
    n: int,
    true_positive: int,
    labelled_positive: int,
    true_negative: int,
    labelled_negative: int,
    confidence: float = 0.95,
) -> RoganGladen:
    """The share (p + Sp - 1) / (Se + Sp - 1).

    Args:
        flagged: Traces the judge calls bad.
        n: Traces the judge saw.
        true_positive: Bad labelled traces that the judge called bad.
        labelled_positive: Bad labelled traces.
        true_negative: Good labelled traces that the judge called good.
        labelled_negative: Good labelled traces.
        confidence: Two-sided level.

    Raises:
        ValueError: The judge is too weak (Se + Sp - 1 below 0.2) or a count is missing.
    """
    if min(n, labelled_positive, labelled_negative) <= 0:
        raise ValueError("Rogan-Gladen needs judged traces and labels of both classes")
    se_judge, sp_judge = true_positive / labelled_positive, true_negative / labelled_negative
    if se_judge + sp_judge - 1.0 < MIN_YOUDEN:
        raise ValueError("the judge hardly tells good from bad: Se + Sp - 1 is below 0.2")
    z = z_two_sided(confidence)
    theta, variance = _corrected(
        flagged / n, n, se_judge, labelled_positive, sp_judge, labelled_negative
    )
    se = math.sqrt(variance)
    return RoganGladen(
        min(1.0, max(0.0, theta)),
        se,
        Interval(theta - z * se, theta + z * se),
        _lang_reiczigel(
            (flagged + z * z / 2.0) / (n + z * z),
            n + z * z,
            (true_positive + 1.0) / (labelled_positive + 2.0),
            labelled_positive + 2.0,
            (true_negative + 1.0) / (labelled_negative + 2.0),
            labelled_negative + 2.0,
            z,
        ),
    )


def _corrected(
    p: float, n: float, se: float, n1: float, sp: float, n0: float
) -> tuple[float, float]:
    youden = se + sp - 1.0
    theta = (p + sp - 1.0) / youden
    variance = (
        p * (1.0 - p) / n
        + theta**2 * se * (1.0 - se) / n1
        + (1.0 - theta) ** 2 * sp * (1.0 - sp) / n0
    ) / youden**2
    return theta, variance


def _lang_reiczigel(
    p: float, n: float, se: float, n1: float, sp: float, n0: float, z: float
) -> Interval:
    theta, variance = _corrected(p, n, se, n1, sp, n0)
    shift = 2.0 * z * z * (theta * se * (1.0 - se) / n1 - (1.0 - theta) * sp * (1.0 - sp) / n0)
    half = z * math.sqrt(variance)
    return Interval(
        min(1.0, max(0.0, theta + shift - half)), min(1.0, max(0.0, theta + shift + half))
    )
