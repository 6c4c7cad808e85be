"""What moves a judge though it should not: the order of the passages, the length of the answer.

Sources: reference/judging.md 1.4 (shortcuts through length) and 2.6 (order sensitivity).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from statistics import fmean
from typing import Any

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.domain.trace import Trace
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.judge import Judge
from rag_monitor.statistics.agreement import auroc


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBias:
    """How much `answer_supported` changes when the passages come in reverse order."""

    judged: int
    """Traces with at least two passages that were judged in both orders."""
    failed: int
    """Traces of the sample with no verdict in one order or the other."""
    mean_shift: float | None
    """Mean |p - p reversed|; None without traces. It holds the judge's own noise, too."""
    noise: float | None
    """Mean |p - p again| in the same order: what a shift is to be compared with."""
    flipped: float | None
    """Share whose hard verdict at the judge's threshold changed with the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthBias:
    """How much of a score is the length of the answer."""

    correlation: float | None
    """Pearson's r of score and log(1 + characters of the answer); None when either is constant."""
    auroc: float | None
    """Of the scores against labels "unfaithful"."""
    auroc_without_length: float | None
    """The same after the part of the score that is linear in log length is taken away."""
    auroc_of_length: float | None
    """Of the length alone: what a judge that only counts characters would reach."""


async def position_bias(judge: Judge, traces: Sequence[Trace]) -> PositionBias:
    """Judge every trace with two or more passages in its order, again, and reversed.

    A reply cache would hide noise: give a judge without one.
    """
    aspects = frozenset({Aspect.ANSWER_SUPPORTED})
    requests = [build_request(trace, aspects) for trace in traces]
    several = [request for request in requests if len(request.contexts or ()) > 1]
    orders = (several, several, [_reversed(request) for request in several])
    first, again, turned = [await judge.judge_many(requests) for requests in orders]
    shifts: list[float] = []
    noises: list[float] = []
    flips: list[bool] = []
    for one, same, other in zip(first, again, turned, strict=True):
        p, p_again, p_turned = _value(one), _value(same), _value(other)
        if p is None or p_again is None or p_turned is None:
            continue
        shifts.append(abs(p - p_turned))
        noises.append(abs(p - p_again))
        threshold = one.threshold if isinstance(one, Judgement) else 0.5
        flips.append((p < threshold) != (p_turned < threshold))
    return PositionBias(
        judged=len(shifts),
        failed=len(several) - len(shifts),
        mean_shift=fmean(shifts) if shifts else None,
        noise=fmean(noises) if noises else None,
        flipped=fmean(flips) if flips else None,
    )


def length_bias(
    probabilities: Sequence[float], lengths: Sequence[int], faithful: Sequence[bool]
) -> LengthBias:
    """How scores, answer lengths in characters and people's labels hang together.

    Raises:
        ValueError: The three differ in number.
    """
    if not len(probabilities) == len(lengths) == len(faithful):
        raise ValueError("length bias needs one length and one label per score")
    sizes = [log(1 + length) for length in lengths]
    unfaithful = [not label for label in faithful]
    return LengthBias(
        correlation=_correlation(probabilities, sizes),
        auroc=auroc([-p for p in probabilities], unfaithful),
        auroc_without_length=auroc([-r for r in _residuals(probabilities, sizes)], unfaithful),
        auroc_of_length=auroc(sizes, unfaithful),
    )


def bias_report(position: PositionBias, length: LengthBias) -> Mapping[str, Any]:
    """Both as plain values with readable names."""
    return {
        "position_asked": position.judged,
        "position_failed": position.failed,
        "position_mean_shift": position.mean_shift,
        "position_noise": position.noise,
        "position_flipped": position.flipped,
        "length_correlation": length.correlation,
        "length_auroc": length.auroc,
        "length_auroc_without": length.auroc_without_length,
        "length_auroc_alone": length.auroc_of_length,
    }


def _reversed(request: JudgeRequest) -> JudgeRequest:
    return replace(request, contexts=tuple(reversed(request.contexts or ())))


def _value(result: Judgement | Exception) -> float | None:
    if isinstance(result, Exception):
        return None
    verdicts = result.of(Aspect.ANSWER_SUPPORTED)
    return verdicts[0].probability if verdicts else None


def _moments(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Sums of squares of both and of their product, about the means."""
    mean_x, mean_y = fmean(x), fmean(y)
    return (
        sum((a - mean_x) ** 2 for a in x),
        sum((b - mean_y) ** 2 for b in y),
        sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)),
    )


def _correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    if not x:
        return None
    xx, yy, xy = _moments(x, y)
    return xy / sqrt(xx * yy) if xx > 0.0 and yy > 0.0 else None


def _residuals(values: Sequence[float], sizes: Sequence[float]) -> Sequence[float]:
    if not values:
        return values
    xx, _, xy = _moments(sizes, values)
    slope = xy / xx if xx > 0.0 else 0.0
    # Rounding keeps ties ties: residuals of equal pairs may differ in the last bit.
    return [round(v - slope * size, 12) for v, size in zip(values, sizes, strict=True)]
