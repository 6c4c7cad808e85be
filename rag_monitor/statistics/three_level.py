"""Three levels: a cheap score on all traces, a judge on some, people on some of those.

Source: reference/statistics.md 3.3. Unbiased for the mean of the human labels whatever the quality
of the score and the judge. Assumes that the human draw uses its own salt, so that it is independent
of the judge's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_monitor.statistics.moments import MeanEstimate
from rag_monitor.statistics.weighting import check_design, observed


@dataclass(frozen=True, slots=True)
class ThreeLevelEstimate:
    """The human-label mean and the judge's bias against people."""

    value: float
    se: float
    judge_bias: MeanEstimate
    """mean(xi eta/(pi pi') (H - J)): a drift of it is a judge regression."""
    pseudo_outcomes: tuple[float, ...] = ()


def three_level_mean(
    f: Sequence[float],
    judge: Sequence[float | None],
    pi: Sequence[float],
    judged: Sequence[bool | int],
    human: Sequence[float | None],
    pi_human: Sequence[float],
    human_sampled: Sequence[bool | int],
) -> ThreeLevelEstimate:
    """mean(f) + mean(xi/pi (J - f)) + mean(xi eta/(pi pi') (H - J)).

    Args:
        f: Cheap score of every trace.
        judge: Judge's value; read where judged.
        pi: Probability of judging.
        judged: Draw of judging.
        human: Person's label; read where judged and sampled for people.
        pi_human: Probability of asking a person, given that the trace was judged.
        human_sampled: Draw of asking a person.
    """
    check_design(pi, judged)
    check_design(pi_human, human_sampled)
    outcomes: list[float] = []
    corrections: list[float] = []
    rows = zip(f, judge, pi, judged, human, pi_human, human_sampled, strict=True)
    for score, verdict, p, drawn, label, p_human, asked in rows:
        said = observed(verdict, drawn)
        first = (said - score) / p if drawn else 0.0
        second = (observed(label, True) - said) / (p * p_human) if drawn and asked else 0.0
        outcomes.append(score + first + second)
        corrections.append(second)
    value, se = _mean_se(outcomes)
    return ThreeLevelEstimate(value, se, MeanEstimate(*_mean_se(corrections)), tuple(outcomes))


def _mean_se(values: Sequence[float]) -> tuple[float, float]:
    n = len(values)
    if n < 2:
        raise ValueError("a three-level estimate needs two traces or more")
    mean = sum(values) / n
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
