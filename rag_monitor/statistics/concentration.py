"""Where a rise is concentrated: did the share of bad draws rise more in one part than elsewhere?

The excess of a part is (p1 - p0) - (q1 - q0), p inside and q outside of it, 1 now and 0 before: a
difference of differences, so neither a part that was always worse nor one that merely has more
traffic now stands out. Its interval joins the four Wilson intervals by MOVER (Zou and Donner 2008).
Draws are taken as independent.

A part without `MIN_BEFORE` draws before (a new release) has no past of its own: the excess is then
p1 - q1, as if inside and outside had been alike before.

Many parts are compared at once, and a part that is named wrongly sends somebody to the wrong place.
So the intervals are simultaneous (Bonferroni: each at 1 - alpha/parts): with probability 1 - alpha
or more all of them hold, and where nothing is concentrated none lies above 0. The false discovery
rate (Benjamini and Hochberg) would promise less, few wrong ones among many, and only where the
comparisons do not depend on one another negatively: those of parts that exclude each other do.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from rag_monitor.statistics.wilson import wilson_interval

K = TypeVar("K", bound=Hashable)

MIN_NOW: Final = 20
"""Draws inside, and outside, below which a part is not compared."""
MIN_BEFORE: Final = 20
"""Draws before, below which a part has no past of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Bad draws of all draws."""

    bad: int = 0
    total: int = 0

    @property
    def share(self) -> float:
        """Of the bad ones; there is at least one draw."""
        return self.bad / self.total

    def without(self, other: Tally) -> Tally:
        """Those that are not among the others."""
        return Tally(bad=self.bad - other.bad, total=self.total - other.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """By how much more the share of bad draws rose in a part than elsewhere, with its interval."""

    value: float
    lower: float
    upper: float


def excesses(
    now: Tally,
    before: Tally,
    parts: Mapping[K, tuple[Tally, Tally]],
    alpha: float = 0.05,
) -> dict[K, Excess]:
    """The excess of each part that can be compared, with simultaneous intervals.

    Args:
        now: All draws now.
        before: All draws before.
        parts: Of each part, its draws now and before. Parts may overlap.
        alpha: Probability that any of the intervals misses, at most.
    """
    comparable = {
        name: part
        for name, part in parts.items()
        if part[0].total >= MIN_NOW and now.total - part[0].total >= MIN_NOW
    }
    if not comparable:
        return {}
    confidence = 1.0 - alpha / len(comparable)
    return {
        name: _excess(inside, inside_before, now, before, confidence)
        for name, (inside, inside_before) in comparable.items()
    }


def _excess(
    inside: Tally, inside_before: Tally, now: Tally, before: Tally, confidence: float
) -> Excess:
    outside, outside_before = now.without(inside), before.without(inside_before)
    plus, minus = [inside], [outside]
    if min(inside_before.total, outside_before.total) >= MIN_BEFORE:
        plus.append(outside_before)
        minus.append(inside_before)
    value = math.fsum(t.share for t in plus) - math.fsum(t.share for t in minus)
    below = above = 0.0
    for tally, sign in [(t, 1) for t in plus] + [(t, -1) for t in minus]:
        interval = wilson_interval(tally.bad, tally.total, confidence)
        down, up = tally.share - interval.lower, interval.upper - tally.share
        below += (down if sign > 0 else up) ** 2
        above += (up if sign > 0 else down) ** 2
    return Excess(value=value, lower=value - math.sqrt(below), upper=value + math.sqrt(above))
