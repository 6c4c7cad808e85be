"""Coverage of the two forms of the difference estimate where no verdict is missing.

A part of `benchmarks/statistics.py`. Three kinds of traffic: one with bad answers that the cheap
score knows about; one in which the judge finds every answer good and the cheap score is merely
sure; and one in which every other window turns the cheap score upside down, so that lam comes from
another world. lam is tuned on the window before. The rival is mean(D).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Final

from benchmarks.bars import Row, Size, row
from benchmarks.missing_verdicts import BAD, TRACES, Draw, Tally, sums_of
from benchmarks.populations import AUC, population
from benchmarks.statistics_reference import sampling_probabilities
from rag_monitor.statistics.moments import MeanEstimate

KINDS: Final = {"some bad": 1.0 - BAD, "all good": 1.0, "cheap score turned": 1.0 - BAD}
"""Traffic, and the share of good answers in it."""
DRAWN: Final = 0.05


def complete_windows(size: Size, seed: int) -> Iterator[Row]:
    """The ratio form covers in all three; mean(D) does not."""
    runs = size.of(2000, 150)
    noise = 1.645 * math.sqrt(0.93 * 0.07 / runs)
    for kind in KINDS:
        ours, rival = simulate(seed, kind, runs)
        yield row(f"coverage, {kind}", ours.covered, 0.93, at_least=True, noise=noise) | {
            "bias": round(ours.bias, 4),
            "rivals": {"mean(D)": round(rival.covered, 4), "its bias": round(rival.bias, 4)},
        }


def simulate(seed: object, kind: str, runs: int) -> tuple[Tally, Tally]:
    """The ratio form, and mean(D)."""
    rng = random.Random(f"{seed}-complete-{kind}")
    both = Tally(KINDS[kind]), Tally(KINDS[kind])
    lams = [forms.tuned_lam() for forms in sums_of(*_window(rng, kind, 0))]
    for number in range(1, runs + 1):
        forms = sums_of(*_window(rng, kind, number))
        for tally, sums, lam in zip(both, forms, lams, strict=True):
            found = sums.estimate(lam)
            tally.add(MeanEstimate(min(1.0, max(0.0, found.value)), found.se), sums.judged)
        lams = [sums.tuned_lam() for sums in forms]
    return both


def _window(rng: random.Random, kind: str, number: int) -> tuple[list[float], list[Draw]]:
    if kind == "all good":
        wrong, doubts = [0] * TRACES, [1.0 - rng.betavariate(8, 1) for _ in range(TRACES)]
    else:
        wrong, doubts = population(rng, TRACES, BAD, AUC)
    if kind == "cheap score turned" and number % 2:
        doubts = [1.0 - doubt for doubt in doubts]
    chances = sampling_probabilities(doubts, DRAWN).pi
    draws = [
        Draw(1.0 - doubt, pi, 1.0 - bad)
        for bad, doubt, pi in zip(wrong, doubts, chances, strict=True)
        if rng.random() < pi
    ]
    return [1.0 - doubt for doubt in doubts], draws
