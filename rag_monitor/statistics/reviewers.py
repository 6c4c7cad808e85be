"""How well people who label the same things agree: Krippendorff's alpha, and kappa of each pair.

Sources: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C (nominal data,
any number of observers, missing values); the interval draws whole units with replacement, as in
Hayes and Krippendorff 2007, but percentiles of the drawn alphas themselves (Zapf et al. 2016).
Kappa is Cohen's (`statistics.agreement`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np

from rag_monitor.statistics.agreement import Kappa, cohen_kappa, kappa_interval
from rag_monitor.statistics.wilson import Interval

ENOUGH: Final = 20
"""Fewer units that both of a pair labelled tell nothing about the pair."""
_RUNS: Final = 2000
Labels = Mapping[Any, Mapping[str, bool]]
"""What each reviewer said of each unit; who said nothing of it is missing there."""


@dataclass(frozen=True, slots=True)
class Alpha:
    """Agreement beyond chance of any number of reviewers."""

    value: float
    """1: they always agree; 0: as if they labelled by chance; below: less than that."""
    interval: Interval | None
    """None where most drawn samples have no disagreement to expect."""
    units: int
    """Units with two labels or more; only those count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Two reviewers on the units that both have labelled."""

    first: str
    second: str
    units: int
    agreeing: int
    """Units they call the same."""
    kappa: Kappa
    interval: Interval


def krippendorff_alpha(labels: Labels, *, confidence: float = 0.95, seed: int = 0) -> Alpha | None:
    """Alpha of two categories, with its interval; None where all labels are the same.

    >>> both = {unit: {"ann": unit < 5, "bo": unit < 5} for unit in range(10)}
    >>> krippendorff_alpha(both).value
    1.0

    Args:
        labels: What everybody said.
        confidence: Two-sided level.
        seed: The same seed gives the same interval.
    """
    # A unit counts by how often it was called either; so there are few different ones.
    shapes = Counter(
        (sum(marks.values()), len(marks) - sum(marks.values()))
        for marks in labels.values()
        if len(marks) > 1
    )
    if not shapes:
        return None
    yes, no = (np.array(column, float) for column in zip(*shapes, strict=True))
    counts = np.array(list(shapes.values()), float)
    value = float(_alphas(yes, no, counts[np.newaxis])[0])
    if np.isnan(value):
        return None
    units = int(counts.sum())
    generator = np.random.default_rng(seed)
    drawn = _alphas(yes, no, generator.multinomial(units, counts / units, _RUNS).astype(float))
    drawn = drawn[~np.isnan(drawn)]
    return Alpha(value, _interval(value, yes, no, counts, drawn, confidence), units)


def _alphas(yes: np.ndarray, no: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Alpha of each row of counts of the shapes; NaN where all labels are the same."""
    all_yes, all_no = counts @ yes, counts @ no
    # Off the diagonal a unit of m labels gives yes·no/(m-1) coincidences on either side.
    observed = counts @ (2.0 * yes * no / (yes + no - 1.0))
    expected = 2.0 * all_yes * all_no / (all_yes + all_no - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1.0 - observed / expected)


def _interval(
    value: float,
    yes: np.ndarray,
    no: np.ndarray,
    counts: np.ndarray,
    drawn: np.ndarray,
    confidence: float,
) -> Interval | None:
    if value == 1.0:  # every sample of units without a disagreement has none, however few they are
        share = float(counts @ yes / (counts @ (yes + no)))
        chance = share**2 + (1.0 - share) ** 2
        return kappa_interval(1.0, chance, int(counts.sum()), confidence)
    if 2 * len(drawn) < _RUNS:
        return None
    tail = (1.0 - confidence) / 2.0
    lower, upper = np.quantile(drawn, [tail, 1.0 - tail])
    return Interval(float(lower), float(upper))


def pair_agreements(
    labels: Labels, *, enough: int = ENOUGH, confidence: float = 0.95
) -> list[PairAgreement]:
    """Every pair with enough units that both labelled, those with the most first.

    >>> [pair.agreeing for pair in pair_agreements(
    ...     {unit: {"ann": unit < 12, "bo": unit < 10} for unit in range(20)})]
    [18]

    Args:
        labels: What everybody said.
        enough: Units.
        confidence: Two-sided level.
    """
    cells: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    for marks in labels.values():
        for first, second in combinations(sorted(marks), 2):
            cells.setdefault((first, second), []).append((marks[first], marks[second]))
    pairs = [
        _pair(*names, both, confidence) for names, both in cells.items() if len(both) >= enough
    ]
    return sorted(pairs, key=lambda pair: (-pair.units, pair.first, pair.second))


def _pair(
    first: str, second: str, both: list[tuple[bool, bool]], confidence: float
) -> PairAgreement:
    ours, theirs = zip(*both, strict=True)
    kappa = cohen_kappa(ours, theirs, confidence)
    agreeing = sum(a == b for a, b in both)
    share = sum(ours) / len(both)
    interval = kappa.interval
    if agreeing == len(both) and 0.0 < share < 1.0:
        interval = kappa_interval(1.0, share**2 + (1.0 - share) ** 2, len(both), confidence)
    return PairAgreement(
        first=first,
        second=second,
        units=len(both),
        agreeing=agreeing,
        kappa=kappa,
        interval=interval,
    )
