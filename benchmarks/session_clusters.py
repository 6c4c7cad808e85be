"""Coverage where the answers of a session stand or fall together, for the docs to state.

A part of `benchmarks/statistics.py`. Sessions of one to nine traces share a chance of a bad answer
(beta, intraclass correlation `ICC`). Two truths are held against the interval: the long-run mean,
and the mean of the very window.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from statistics import fmean
from typing import Final

from benchmarks.bars import Row, Size
from benchmarks.missing_verdicts import BAD, Draw, Tally, sums_of
from benchmarks.statistics_reference import sampling_probabilities
from rag_monitor.statistics.moments import MeanEstimate, mean_from_sums

ICC: Final = 0.5
LONGEST: Final = 9
GIVEN: Final = ((2000, 0.05), (400, 1.0))
"""Traces of a window, and the share that is judged."""


def session_clusters(size: Size, seed: int) -> Iterator[Row]:
    """Figures, not bars: nothing is promised of dependent traces."""
    for traces, share in GIVEN:
        long_run, window = simulate(seed, traces, share, size.of(2000, 60))
        yield {
            "given": f"{traces} traces in sessions, ICC {ICC}, {share:.0%} judged",
            "coverage_of_the_long_run_mean": round(long_run, 4),
            "coverage_of_the_window_s_own_mean": round(window, 4),
        }


def simulate(seed: object, traces: int, share: float, runs: int) -> tuple[float, float]:
    """Share of windows whose interval holds the long-run mean, and their own mean."""
    rng = random.Random(f"{seed}-sessions-{traces}-{share}")
    long_run: list[bool] = []
    own: list[bool] = []
    lam = 1.0
    for _ in range(runs):
        good, doubts = _traffic(rng, traces)
        if share == 1.0:
            squares = sum(v * v for v in good)
            found, judged = mean_from_sums(traces, sum(good), squares), float(traces)
        else:
            sums = sums_of([1.0 - d for d in doubts], _drawn(rng, good, doubts, share))[0]
            estimate = sums.estimate(lam)
            found, judged = MeanEstimate(estimate.value, estimate.se), sums.judged
            lam = sums.tuned_lam()
        for truth, kept in ((1.0 - BAD, long_run), (fmean(good), own)):
            tally = Tally(truth)
            tally.add(found, judged)
            kept.append(tally.covered == 1.0)
    return fmean(long_run), fmean(own)


def _traffic(rng: random.Random, traces: int) -> tuple[list[float], list[float]]:
    """Whether each answer is good, and how much the cheap score doubts it."""
    rest = (1.0 - ICC) / ICC
    good: list[float] = []
    doubts: list[float] = []
    while len(good) < traces:
        chance = rng.betavariate(BAD * rest, (1.0 - BAD) * rest)
        for _ in range(rng.randint(1, LONGEST)):
            bad = rng.random() < chance
            good.append(1.0 - bad)
            doubts.append(rng.betavariate(3, 4) if bad else rng.betavariate(1, 6))
    return good[:traces], doubts[:traces]


def _drawn(rng: random.Random, good: list[float], doubts: list[float], share: float) -> list[Draw]:
    chances = sampling_probabilities(doubts, share).pi
    return [
        Draw(1.0 - doubt, pi, said)
        for said, doubt, pi in zip(good, doubts, chances, strict=True)
        if rng.random() < pi
    ]
