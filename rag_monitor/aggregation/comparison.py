"""Two estimates side by side: "v42 against v41: -3.1 points, 95% interval -4.8 to -1.4"."""

from __future__ import annotations

from dataclasses import dataclass

from rag_monitor.aggregation import keys
from rag_monitor.domain.window import Estimate
from rag_monitor.statistics.comparison import mover_difference
from rag_monitor.statistics.wilson import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """First minus second. Bounds are None where the two do not bear a comparison."""

    value: float | None
    lower: float | None = None
    upper: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.lower is not None and self.upper is not None and self.lower * self.upper > 0


def sentence(first: Estimate, second: Estimate, difference: Difference) -> str:
    """Two releases in words: "faithfulness, v42 against v41: −3.1 points, 95% interval −4.8 …"."""
    names = f"{first.series.release or '?'} against {second.series.release or '?'}"
    head = f"{first.series.metric}, {names}: "
    if difference.value is None:
        return head + "not scored in both"
    if difference.lower is None or difference.upper is None:
        why = ", ".join(difference.notes)
        return head + f"{_points(difference.value)} points, no interval ({why})"
    level = f"{first.confidence * 100:g}%"
    bounds = f"{_points(difference.lower)} to {_points(difference.upper)}"
    verdict = "" if difference.beyond_chance else "; may be chance"
    return head + f"{_points(difference.value)} points, {level} interval {bounds}{verdict}"


def _points(value: float) -> str:
    return f"{value * 100:+.1f}".replace("-", "−")


def compare(first: Estimate, second: Estimate) -> Difference:
    """The change from `second` to `first`, with the interval of both intervals (MOVER).

    Assumes different traces. An estimate that rests on the embedded judge alone is not compared
    with one that an expensive judge or people have corrected: their difference would be the
    judges'.
    """
    if first.value is None or second.value is None:
        return Difference(value=None)
    value = first.value - second.value
    corrected = {
        ("embedded_uncorrected" in estimate.notes, keys.CORRECTED in estimate.notes)
        for estimate in (first, second)
    }
    if len(corrected) > 1:
        return Difference(value=value, notes=("different_judges",))
    a, b = _interval(first), _interval(second)
    if a is None or b is None:
        return Difference(value=value, notes=("interval_withheld",))
    bounds = mover_difference(first.value, a, second.value, b)
    return Difference(value=value, lower=bounds.lower, upper=bounds.upper)


def _interval(estimate: Estimate) -> Interval | None:
    if estimate.lower is None or estimate.upper is None:
        return None
    return Interval(estimate.lower, estimate.upper)
