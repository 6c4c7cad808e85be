"""The design effect: how much more an estimate varies where traces of a session are alike.

Source: random groups (Wolter, Introduction to Variance Estimation, 2nd ed., 2007, ch. 2): every
cluster is dealt to one of G buckets by a hash, and what the buckets add to an estimate is held
against one another. Sums per bucket add up over minutes, so that a cluster is one whatever it
spans, and their number has a bound however many clusters there are. With u_b the influence of
bucket b on the estimate,

    V = G/(G-1) [sum u_b^2 - (sum u_b)^2 / G],    design effect = V / (variance if independent).

With G = 64 an interval at correlation 0 is 1 to 2% wider than one that is told so.

Intervals: the effective count is divided by the design effect and multiplied by (z/t)^2 (Korn and
Graubard, Survey Methodology 24, 1998), t with the degrees of freedom of V. Its size differs from
window to window with the pairs of traces that share a cluster, which are counted by the same
buckets: a long stretch says how alike the traces of a cluster are, the window how many pairs it has
(Kish 1965: 1 + (pairs per trace) * correlation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rag_monitor.statistics.moments import t_two_sided
from rag_monitor.statistics.wilson import EffectiveInterval, effective_size, wilson_interval

_LEAST: Final = 0.5
"""Chance may make buckets more alike than independent traces; not more than this is believed."""
_MOST_PAIRS: Final = 2.0
"""A window is not believed to have more pairs per trace than so many times those of the stretch."""
_SURE: Final = 2.0
"""Standard errors that make pairs more than chance; of pairs and traces it is sqrt(2/(G - 1))."""
_COMPARABLE: Final = 2.0
"""Of fewer clusters none can be held against another: what they add sums to 0 whatever they are."""
_LONGEST: Final = 100.0
"""Traces of one session, or one user, in a stretch of a day; a longer one is an id for everything.
The simulations go up to 40."""
_FREE: Final = 1_000_000
"""As many degrees of freedom as a normal quantile needs, and more."""


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """The factor of a variance, and how well it is known."""

    value: float = 1.0
    degrees: int = _FREE
    """Degrees of freedom of the variance; at least 1."""
    alike: float = 1.0
    """What `value` would be if all traces of a cluster were alike."""

    def size(self, independent: float, confidence: float) -> float:
        """As many independent draws as `independent` traces are worth, at that two-sided level."""
        return self.at_level(independent / self.value, confidence)

    def at_level(self, effective: float, confidence: float) -> float:
        """An effective count, less what an uncertain design effect costs at that level."""
        if self.degrees >= _FREE:
            return effective
        quantiles = t_two_sided(confidence, _FREE), t_two_sided(confidence, self.degrees)
        return effective * (quantiles[0] / quantiles[1]) ** 2


INDEPENDENT: Final = DesignEffect()
"""No trace has anything to do with another."""


def clustered_wilson(
    mean: float, se: float, judged: float, design: DesignEffect, confidence: float = 0.95
) -> EffectiveInterval:
    """`effective_wilson` of traces that come in clusters.

    Args:
        mean: The estimate; may lie outside [0, 1] (it is clipped for the interval only).
        se: Its standard error if traces were independent.
        judged: Traces with an expensive score behind it.
        design: What their dependence adds.
        confidence: Two-sided level.
    """
    independent = effective_size(mean, se, judged)
    size = design.size(independent, confidence)
    inside = min(1.0, max(0.0, mean))
    interval = wilson_interval(min(size, size * inside), size, confidence)
    return EffectiveInterval(interval.lower, interval.upper, independent / design.value)


def between_buckets(values: Sequence[float]) -> float:
    """G/(G-1) [sum u^2 - (sum u)^2/G]: the variance of a sum of independent buckets."""
    groups = len(values)
    total = math.fsum(values)
    spread = math.fsum(value * value for value in values) - total * total / groups
    return max(0.0, groups / (groups - 1) * spread)


@dataclass(frozen=True, kw_only=True)  # without slots: what is worked out once is kept
class Sizes:
    """How the traces of a window are spread over clusters."""

    buckets: Sequence[float]
    """Weight per bucket; traces without a bucket (they are independent) are left out."""
    weight: float
    """Of all traces."""
    squares: float
    """Sum of squared weights of all traces."""
    judged_squares: float
    """The same of the judged ones, scaled to add up to `weight`."""

    @cached_property
    def share(self) -> float:
        """Part of the traces that has a bucket."""
        return min(1.0, math.fsum(self.buckets) / self.weight) if self.weight > 0.0 else 0.0

    @cached_property
    def pairs(self) -> float:
        """Sum of w_i w_j over ordered pairs of different traces of one cluster."""
        return max(0.0, between_buckets(self.buckets) - self.squares * self.share)

    @property
    def pairs_per_trace(self) -> float:
        """Pairs over the judged squares: the design effect of traces that are all alike, less 1."""
        return self.pairs / self.judged_squares if self.judged_squares > 0.0 else 0.0

    @property
    def traces_per_cluster(self) -> float:
        """Of the cluster of the average trace; exact where all weigh the same."""
        own = self.squares * self.share
        return 1.0 + self.pairs / own if own > 0.0 else 0.0

    @cached_property
    def clusters(self) -> float:
        """So many of equal weight vary as these do; no more than buckets that hold any."""
        square = self.pairs + self.squares * self.share
        equal = math.fsum(self.buckets) ** 2 / square if square > 0.0 else 0.0
        return min(equal, sum(size > 0.0 for size in self.buckets))

    @property
    def degrees(self) -> int:
        """Whole clusters less one; at least 1."""
        return max(1, int(self.clusters) - 1)

    def pairs_against(self, other: Sizes) -> float:
        """Pairs per trace here over those of `other`."""
        chance = _SURE * math.sqrt(2.0 / (len(other.buckets) - 1))
        if other.pairs <= chance * (other.pairs + other.squares * other.share):
            # Clusters of one, as far as can be told: there is nothing to compare with.
            return self.share / other.share if other.share > 0.0 else 0.0
        return min(_MOST_PAIRS, self.pairs_per_trace / other.pairs_per_trace)


def design_effect(
    influence: Sequence[float], variance: float, over: Sizes, window: Sizes | None = None
) -> DesignEffect:
    """The design effect of a window, from a stretch of time that holds it.

    Where everything that was judged in the stretch is alike, or is of one cluster, nothing tells
    whether traces of a cluster are: then each cluster counts as one. Clusters that no conversation
    is as long as tell nothing of traces: these are independent then. Else an application that sends
    one user for everybody would have no interval, and no rule could ever fire.

    Args:
        influence: What each bucket of the stretch adds to its estimate.
        variance: Of that estimate if traces were independent.
        over: Sizes of the stretch.
        window: Sizes of the window; None: it is the stretch.
    """
    if not over.share or (window is not None and not window.share):
        return INDEPENDENT
    if over.traces_per_cluster > _LONGEST:
        return INDEPENDENT
    # As many as tell something; of few clusters most buckets are empty (CR1; Cameron and Miller,
    # Journal of Human Resources 50, 2015).
    clusters = over.degrees + 1
    clustered = between_buckets(influence) * (1.0 - 1.0 / len(influence)) * clusters / over.degrees
    excess = over.pairs_per_trace
    alike = 1.0 + (over if window is None else window).pairs_per_trace
    part = 1.0
    if variance > 0.0 and over.clusters >= _COMPARABLE:
        excess = (clustered - over.share * variance) / variance
        whole = clustered + (1.0 - over.share) * variance
        part = clustered / whole if whole > 0.0 else 1.0
    if window is not None:
        excess *= window.pairs_against(over)
    return DesignEffect(max(_LEAST, 1.0 + excess), _degrees(over, part), alike)


def _degrees(over: Sizes, part: float) -> int:
    """Satterthwaite: `part` of the variance from buckets, the rest from single traces."""
    single = max(1.0, (1.0 - over.share) * over.weight - 1.0)
    spread = part * part / over.degrees + (1.0 - part) ** 2 / single
    return max(1, min(_FREE, int(1.0 / spread)))
