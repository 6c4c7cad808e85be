"""Baselines of a window, and the difference of two estimates.

"v42 against v41: -3.1 points, 95% interval -4.8 to -1.4".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from rag_monitor.aggregation import keys
from rag_monitor.domain.rollup import Rollup
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.statistics.comparison import mover_difference
from rag_monitor.statistics.wilson import Interval


class BaselineKind(StrEnum):
    """Which earlier stretch is the yardstick."""

    PREVIOUS_WINDOW = "previous_window"
    LAST_WEEK = "last_week"
    """The same hours one week earlier."""
    PREVIOUS_RELEASE = "previous_release"


@dataclass(frozen=True, slots=True)
class PreviousRelease:
    """The release that was replaced, and when."""

    release: str
    replaced_at: datetime
    """Minute of the first trace of the release that came after."""

    def last_stretch(self, length: timedelta) -> Window:
        """The end of its time, as long as `length`, and the minute in which it was replaced.

        Both releases serve while one replaces the other: the minute of the change counts.
        """
        return Window(self.replaced_at - length, self.replaced_at + timedelta(minutes=1))


def baseline_window(window: Window, kind: BaselineKind) -> Window:
    """The window of the same length that `kind` compares with.

    Raises:
        ValueError: For `previous_release`, whose window depends on the traces.
    """
    if kind is BaselineKind.PREVIOUS_WINDOW:
        return window.before()
    if kind is BaselineKind.LAST_WEEK:
        return window.before(timedelta(days=7))
    raise ValueError("the window of a previous release depends on when it was replaced")


def previous_release(rows: Iterable[Rollup], release: str | None = None) -> PreviousRelease | None:
    """The release before `release` (default: before the newest), by first appearance.

    Args:
        rows: Rollups of one app over the look-back.
        release: The present release; None: the one that appeared last.

    Returns:
        None when there is no other release before it.
    """
    first = first_seen(rows)
    if release is None:
        release = max(first, key=lambda name: (first[name], name), default=None)
    if release is None or release not in first:
        return None
    moment = first[release]
    # Two releases may first appear in the same minute: then their names tell which came first.
    earlier = [name for name, seen in first.items() if (seen, name) < (moment, release)]
    if not earlier:
        return None
    return PreviousRelease(max(earlier, key=lambda name: (first[name], name)), moment)


def first_seen(rows: Iterable[Rollup]) -> dict[str, datetime]:
    """The first minute of every release."""
    first: dict[str, datetime] = {}
    for row in rows:
        seen = first.get(row.key.release, row.key.minute)
        first[row.key.release] = min(seen, row.key.minute)
    return first


COMMON_JUDGE: Final = "common_judge"
"""Note of an estimate that was made anew by a judge that the other side has, too."""


class JudgedSource(Protocol):
    """Makes an estimate anew, by a judge of choice."""

    def estimate(
        self, series: Series, window: Window, /, *, min_judged: int | None = None
    ) -> Estimate:
        """A metric over a window."""
        ...

    def judges(self, series: Series, window: Window, /) -> Sequence[str]:
        """Identities with scores of this metric in the window."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """First minus second. Bounds are None where the two cannot be compared."""

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

    Assumes different traces. Estimates that rest on different judges, or of which people have
    corrected one, are not compared: their difference would be the judges'.
    """
    if first.value is None or second.value is None:
        return Difference(value=None)
    value = first.value - second.value
    if not alike(first, second):
        return Difference(value=value, notes=("different_judges",))
    a, b = _interval(first), _interval(second)
    if a is None or b is None:
        return Difference(value=value, notes=("interval_withheld",))
    bounds = mover_difference(first.value, a, second.value, b)
    return Difference(value=value, lower=bounds.lower, upper=bounds.upper)


def alike(first: Estimate, second: Estimate) -> bool:
    """Whether both say what the same judge says, or both what people say.

    Another model, prompt, weights or calibration makes another identity, hence another judge. What
    people have corrected estimates their verdict, whichever judge it began with.
    """
    by_people = {keys.CORRECTED in estimate.notes for estimate in (first, second)}
    return by_people == {True} or (by_people == {False} and first.rests_on == second.rests_on)


def on_one_judge(
    source: JudgedSource, first: Estimate, second: Estimate, *, min_judged: int | None = None
) -> tuple[Estimate, Estimate]:
    """The two, made anew by the judge that scored most of both where they rest on different ones.

    As they came where no judge scored enough of both, or where a judge was asked for by name.
    """
    pair = (first, second)
    if any(e.value is None or e.series.judge != keys.COMBINED for e in pair) or alike(*pair):
        return pair
    names = [set(source.judges(estimate.series, estimate.window)) for estimate in pair]
    candidates = []
    for judge in sorted(names[0] & names[1]):
        one, other = (
            source.estimate(replace(e.series, judge=judge), e.window, min_judged=min_judged)
            for e in pair
        )
        if one.lower is not None and other.lower is not None and alike(one, other):
            candidates.append((one, other))
    if not candidates:
        return pair
    one, other = max(candidates, key=lambda both: min(both[0].judged, both[1].judged))
    return _by_common_judge(one), _by_common_judge(other)


def _by_common_judge(estimate: Estimate) -> Estimate:
    return replace(estimate, notes=(*estimate.notes, COMMON_JUDGE))


def _interval(estimate: Estimate) -> Interval | None:
    if estimate.lower is None or estimate.upper is None:
        return None
    return Interval(estimate.lower, estimate.upper)
