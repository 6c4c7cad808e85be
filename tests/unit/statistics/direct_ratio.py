"""The ratio form trace by trace, straight from its formula: what sums are held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """One trace with a cheap score. Not drawn: no probability of its own matters."""

    f: float
    pi: float
    drawn: bool = False
    verdict: float | None = None
    outside: bool = False
    """Drawn, and the judge said that the metric does not apply."""
    label: float | None = None

    @property
    def a(self) -> float:
        return float(self.drawn and self.verdict is not None) / self.pi

    @property
    def m(self) -> float:
        return self.a + float(self.drawn and self.outside) / self.pi


def direct_ratio(traces: Sequence[Seen], lam: float) -> tuple[float, float]:
    """theta and its error."""
    weight = sum(t.a for t in traces)
    mean = sum(t.f for t in traces) / len(traces)
    theta = sum(t.a * (t.verdict or 0.0) - lam * t.m * (t.f - mean) for t in traces) / weight
    judged = sum(t.a > 0 for t in traces)
    spread = sum(w * w for w in influences(traces, theta, lam)) * judged / (judged - 1)
    return theta, math.sqrt(spread) / weight


def influences(traces: Sequence[Seen], theta: float, lam: float) -> list[float]:
    """What each trace moves the numerator of theta by."""
    mean = sum(t.f for t in traces) / len(traces)
    answered = sum(t.m for t in traces) / len(traces)
    return [
        t.a * ((t.verdict or 0.0) - theta) - lam * (t.m - answered) * (t.f - mean) for t in traces
    ]


def direct_corrected(traces: Sequence[Seen], lam: float) -> tuple[float, float]:
    """The judge's bias against people, and its covariance with theta."""
    theta, _ = direct_ratio(traces, lam)
    labelled = [n for n, t in enumerate(traces) if t.label is not None]
    gap = {n: (traces[n].label or 0.0) - (traces[n].verdict or 0.0) for n in labelled}
    weight = sum(traces[n].a for n in labelled)
    bias = sum(traces[n].a * gap[n] for n in labelled) / weight
    moved = influences(traces, theta, lam)
    shared = sum(moved[n] * traces[n].a * (gap[n] - bias) for n in labelled)
    return bias, shared / (weight * sum(t.a for t in traces))
