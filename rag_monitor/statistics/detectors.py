"""e-detectors: alarms on a bounded mean with a promised time between false alarms.

Source: reference/statistics.md 5 (Shin, Ramdas and Rinaldo, arXiv 2203.03532). Null: the expected
bad rate given the past is at most q. Alarm when the weighted mean of M over the grid reaches A; the
expected time to the first false alarm is then at least A ticks. No independence and no stationarity
are assumed. Choose what a tick is and keep to it.

Traces of one session break the null without any change: after a bad turn the next is likelier bad
than q. Each session then brings a factor of many dependent bets, whose expectation is above 1. The
root of an order p brings it down to 1: by Jensen's inequality any p that is no less than the turns
of a session does, and while the correlation R of turns is small

    p = 1 + (design effect - 1) c,    c = l^2 q (1 - q) / (2 E[(1 + l x) log(1 + l x)]),

x = bad - q: in the first order of R the expectation rises by l^2 q (1 - q) R per pair of turns, and
the root takes as much off. c is 1 for small bets l (p is the design effect then: as many traces as
they are worth), and more for large ones. What holds beyond the first order is simulated
(`benchmarks/statistics.py --only session_alarms`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect

GRID_SHARES: Final = (0.9, 0.5, 0.25, 0.12, 0.06, 0.03)
"""Bets times q; a bet must stay below 1/q."""
GRID_WEIGHTS: Final = (1.0, 1.0, 2.0, 4.0, 4.0, 1.0)
"""Shares of the mixture (before they are made to sum to 1).

Any weights keep the promise. A bet of weight w is late by log(1/w)/growth ticks: next to nothing
for the large bets, whose growth is large, so the weight belongs to the bets that answer to a rise
of the bad rate by half to its double. Against equal weights 0.93 -> 0.85 is found in 313 instead of
341 judged traces, and 0.93 -> 0.50 in 17 instead of 16 (`benchmarks/statistics.py`, `mixtures`).
"""

_LEVEL: Final = 0.95
"""Two-sided, at which a design effect that few sessions tell of is taken for larger."""
_LONGER: Final = 1.5
"""Sessions are not all as long as that of the average trace: of turns that are all alike a root of
so many times that length is enough, for lengths from 1 to 40 in equal parts and for geometric ones
at q from .05 on."""


def grid(q: float) -> tuple[float, ...]:
    """The six bets for a bad-rate limit `q`, largest first."""
    if not 0.0 < q < 1.0:
        raise ValueError(f"the acceptable bad rate lies between 0 and 1, not {q}")
    return tuple(share / q for share in GRID_SHARES)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorState:
    """All a stream has to remember between ticks; plain numbers, so that it can be stored."""

    values: tuple[float, ...] = ()
    """M per bet."""
    ticks: int = 0
    onset: int = 0
    """Last tick at which the average was below 1: where a change, if there is one, began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """A mixture e-SR detector of "the bad rate exceeds q".

    Under designed sampling pass each judged trace's probability and the policy's floor: the bet is
    weighted by pi_min/pi, which keeps the promise exact. Unweighted it does not hold.
    """

    q: float
    """Agreed worst acceptable bad rate."""
    bets: tuple[float, ...] = field(default=())
    """Empty: `grid(q)`."""
    weights: tuple[float, ...] = field(default=())
    """Of the bets in the mixture, in any unit; empty: `GRID_WEIGHTS` for `grid(q)`, else equal."""

    def __post_init__(self) -> None:
        bets = self.bets or grid(self.q)
        if not all(0.0 <= bet < 1.0 / self.q for bet in bets):
            raise ValueError("bets lie in [0, 1/q)")
        weights = self.weights or (GRID_WEIGHTS if not self.bets else (1.0,) * len(bets))
        if len(weights) != len(bets) or min(weights) < 0.0 or not sum(weights):
            raise ValueError("every bet needs a weight of 0 or more, and one of them above 0")
        total = math.fsum(weights)
        object.__setattr__(self, "bets", bets)
        object.__setattr__(self, "weights", tuple(weight / total for weight in weights))

    def start(self) -> DetectorState:
        """The state before the first tick, and after an alarm."""
        return DetectorState(values=(0.0,) * len(self.bets))

    def observe(
        self, state: DetectorState, bad: float, *, pi: float = 1.0, pi_min: float = 1.0
    ) -> DetectorState:
        """One judged trace, one tick.

        Args:
            state: Before.
            bad: 1 bad, 0 good, or anything between.
            pi: Probability with which the trace was judged.
            pi_min: Floor of the sampling policy, at most `pi`.
        """
        weight = _weight(pi, pi_min)
        return self.advance(state, [1.0 + bet * weight * (bad - self.q) for bet in self.bets], 1)

    def skip(self, state: DetectorState, ticks: int = 1) -> DetectorState:
        """Traces that were not judged, where every trace is a tick: e = 1, M grows by 1 each."""
        return self.advance(state, [1.0] * len(self.bets), ticks)

    def e_values(
        self,
        classes: Mapping[float, tuple[int, int]],
        *,
        pi_min: float = 1.0,
        design: DesignEffect = INDEPENDENT,
    ) -> tuple[float, ...]:
        """The product E of the e-values of traces whose order is unknown, per bet.

        `advance` makes M = E (M + ticks) of it: its expectation grows by at most `ticks`, so the
        promise holds as for single traces.

        Args:
            classes: Sampling probability to (judged, bad).
            pi_min: Floor of the sampling policy.
            design: What the dependence of traces of a session adds to the variance of their mean.
        """
        logs = [0.0] * len(self.bets)
        for pi, (judged, bad) in classes.items():
            weight = _weight(pi, pi_min)
            for place, bet in enumerate(self.bets):
                stake = bet * weight
                logs[place] += bad * math.log1p(stake * (1.0 - self.q))
                logs[place] += (judged - bad) * math.log1p(-stake * self.q)
        roots = self._roots(design)
        return tuple(
            math.exp(min(700.0, log / root)) for log, root in zip(logs, roots, strict=True)
        )

    def _roots(self, design: DesignEffect) -> list[float]:
        """The order of the root that is taken of each bet's product; 1: traces are independent."""
        excess = 1.0 / design.size(1.0, _LEVEL) - 1.0
        most = _LONGER * (design.alike - 1.0)
        if excess <= 0.0 or most <= 0.0:
            return [1.0] * len(self.bets)
        return [1.0 + min(most, excess * self._convexity(bet)) for bet in self.bets]

    def _convexity(self, bet: float) -> float:
        """c: by how much more than the design effect a bet has to be tempered."""
        if not bet:
            return 1.0
        q = self.q
        won, lost = 1.0 + bet * (1.0 - q), 1.0 - bet * q
        entropy = q * won * math.log(won) + (1.0 - q) * lost * math.log(lost)
        return bet * bet * q * (1.0 - q) / (2.0 * entropy)

    def value(self, state: DetectorState) -> float:
        """The mean of M over the bets, by their weights: compare with A."""
        return sum(weight * value for weight, value in zip(self.weights, state.values, strict=True))

    def strongest(self, state: DetectorState) -> float:
        """The bet with the largest M: large bets answer to large changes."""
        return self.bets[max(range(len(self.bets)), key=lambda place: state.values[place])]

    def advance(self, state: DetectorState, e_values: Sequence[float], ticks: int) -> DetectorState:
        """M = e (M + ticks) for every bet."""
        # Beyond 1e300 every alarm has long been raised; infinity would turn into NaN.
        values = tuple(
            min(1e300, e * (value + ticks)) for e, value in zip(e_values, state.values, strict=True)
        )
        total = state.ticks + ticks
        moved = replace(state, values=values, ticks=total)
        return replace(moved, onset=total) if self.value(moved) < 1.0 else moved


def _weight(pi: float, pi_min: float) -> float:
    if not 0.0 < pi_min <= pi <= 1.0:
        raise ValueError(f"a design needs 0 < pi_min <= pi <= 1: pi {pi}, pi_min {pi_min}")
    return pi_min / pi
