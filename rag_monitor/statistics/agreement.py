"""How well a judge agrees with people: kappa, AUROC, balanced accuracy, F1, with intervals.

Sources: Cohen 1960; Fleiss, Cohen and Everitt 1969 (variance of kappa); Hanley and McNeil 1982
(AUROC as a rank statistic). Statements of one trace are not independent: bootstrap whole clusters.

A judge that is right on all of 20 rows is right on every resample of them, too: the bootstrap then
gives a point, as if 20 rows proved perfection. The functions named `*_interval` serve there: from
Wilson's interval of a share (reference/statistics.md 4.1), Zou and Donner 2008 (MOVER, mean of two
shares) and Newcombe 2006, method 5 (area under the curve). Their `n` counts clusters, not rows.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from rag_monitor.statistics.wilson import Interval, wilson_interval, z_two_sided

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement beyond chance."""

    value: float
    se: float
    interval: Interval


def cohen_kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], confidence: float = 0.95
) -> Kappa:
    """Cohen's kappa of two raters with its large-sample interval, clipped to [-1, 1].

    Two raters who both always say the same single thing agree perfectly: kappa 1, no spread.
    """
    n = len(first)
    if n != len(second) or not n:
        raise ValueError("kappa needs the same items from both raters, at least one")
    cells = Counter(zip(first, second, strict=True))
    rows, columns = Counter(first), Counter(second)
    labels = sorted({*rows, *columns}, key=repr)
    observed = sum(cells[label, label] for label in labels) / n
    chance = sum(rows[label] * columns[label] for label in labels) / n**2
    if chance == 1.0:
        return Kappa(1.0, 0.0, Interval(1.0, 1.0))
    kappa = (observed - chance) / (1.0 - chance)
    se = math.sqrt(_kappa_variance(cells, rows, columns, labels, kappa, chance) / n)
    half = z_two_sided(confidence) * se
    return Kappa(kappa, se, Interval(max(-1.0, kappa - half), min(1.0, kappa + half)))


def _kappa_variance(
    cells: Counter[tuple[Hashable, Hashable]],
    rows: Counter[Hashable],
    columns: Counter[Hashable],
    labels: Sequence[Hashable],
    kappa: float,
    chance: float,
) -> float:
    n = rows.total()
    diagonal = sum(
        cells[label, label] / n * (1.0 - (rows[label] + columns[label]) / n * (1.0 - kappa)) ** 2
        for label in labels
    )
    off = (1.0 - kappa) ** 2 * sum(
        count / n * ((columns[a] + rows[b]) / n) ** 2 for (a, b), count in cells.items() if a != b
    )
    spread = diagonal + off - (kappa - chance * (1.0 - kappa)) ** 2
    return max(0.0, spread) / (1.0 - chance) ** 2


def auroc(scores: Sequence[float], labels: Sequence[bool | int]) -> float | None:
    """P(score of a positive > score of a negative), ties count half; None without both classes."""
    if len(scores) != len(labels):
        raise ValueError("AUROC needs one label per score")
    order = sorted(range(len(scores)), key=lambda index: scores[index])
    positives = sum(bool(label) for label in labels)
    negatives = len(labels) - positives
    if not positives or not negatives:
        return None
    ranks = 0.0
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        shared = (start + 1 + end) / 2.0
        ranks += shared * sum(bool(labels[index]) for index in order[start:end])
        start = end
    return (ranks - positives * (positives + 1) / 2.0) / (positives * negatives)


@dataclass(frozen=True, slots=True)
class BinaryAgreement:
    """Counts of a hard verdict against labels, and what follows from them."""

    tp: int
    fp: int
    tn: int
    fn: int

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity; None without both classes."""
        if not (self.tp + self.fn and self.tn + self.fp):
            return None
        return (self.tp / (self.tp + self.fn) + self.tn / (self.tn + self.fp)) / 2.0

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP)."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else None

    @property
    def recall(self) -> float | None:
        """TP / (TP + FN)."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else None

    @property
    def f1(self) -> float | None:
        """2 TP / (2 TP + FP + FN)."""
        whole = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / whole if whole else None

    @property
    def accuracy(self) -> float | None:
        """(TP + TN) / all; misleads when one class is rare."""
        whole = self.tp + self.fp + self.tn + self.fn
        return (self.tp + self.tn) / whole if whole else None


def binary_agreement(
    predicted: Sequence[bool | int], labels: Sequence[bool | int]
) -> BinaryAgreement:
    """Counts of predictions against labels; true is the positive class on both sides."""
    cells = Counter((bool(p), bool(label)) for p, label in zip(predicted, labels, strict=True))
    return BinaryAgreement(
        tp=cells[True, True],
        fp=cells[True, False],
        tn=cells[False, False],
        fn=cells[False, True],
    )


def clustered_bootstrap(
    rows: Sequence[Row],
    clusters: Sequence[Hashable],
    statistic: Callable[[Sequence[Row]], float | None],
    *,
    runs: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """Percentile interval of `statistic`, drawing whole clusters with replacement.

    Args:
        rows: Items.
        clusters: What each item belongs to: its trace, its source document.
        statistic: Computed on each resample; None where it is not defined (those are left out).
        runs: Resamples.
        confidence: Two-sided level.
        seed: The same seed gives the same interval.

    Returns:
        None when the statistic is defined on fewer than half of the resamples.
    """
    groups: dict[Hashable, list[Row]] = defaultdict(list)
    for row, cluster in zip(rows, clusters, strict=True):
        groups[cluster].append(row)
    members = list(groups.values())
    if not members:
        return None
    generator = random.Random(seed)  # noqa: S311 - resampling, not a secret
    values: list[float] = []
    for _ in range(runs):
        resample = generator.choices(members, k=len(members))
        value = statistic([row for group in resample for row in group])
        if value is not None:
            values.append(value)
    if len(values) * 2 < runs:
        return None
    values.sort()
    tail = (1.0 - confidence) / 2.0
    last = len(values) - 1
    return Interval(values[round(tail * last)], values[round((1.0 - tail) * last)])


_STEPS: Final = 60
"""Halvings of [0, 1]; more than a float can tell apart."""


def share_interval(share: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's interval of a share of `n` clusters."""
    return wilson_interval(min(float(n), share * n), n, confidence)


def mean_of_two_interval(
    first: tuple[float, int], second: tuple[float, int], confidence: float = 0.95
) -> Interval:
    """The mean of two independent shares, each with the clusters behind it.

    Balanced accuracy is one, of the share found among the bad and that among the good.
    """
    (a, b) = (share_interval(*part, confidence) for part in (first, second))
    value = (first[0] + second[0]) / 2.0
    below = math.hypot(first[0] - a.lower, second[0] - b.lower) / 2.0
    above = math.hypot(a.upper - first[0], b.upper - second[0]) / 2.0
    return Interval(max(0.0, value - below), min(1.0, value + above))


def f1_interval(f1: float, n: int, confidence: float = 0.95) -> Interval:
    """F1 = 2 J / (1 + J), J being the share of right ones where either side says yes.

    Args:
        f1: The figure.
        n: Clusters with a row that either side calls positive.
        confidence: Two-sided level.
    """
    share = share_interval(f1 / (2.0 - f1), n, confidence)
    return Interval(*(2.0 * end / (1.0 + end) for end in (share.lower, share.upper)))


def kappa_interval(observed: float, chance: float, n: int, confidence: float = 0.95) -> Interval:
    """Cohen's kappa, the agreement that chance would give taken as known.

    Args:
        observed: Share of items both sides call the same.
        chance: What both sides' shares of each label give, below 1.
        n: Clusters.
        confidence: Two-sided level.
    """
    share = share_interval(observed, n, confidence)
    ends = ((end - chance) / (1.0 - chance) for end in (share.lower, share.upper))
    return Interval(*(max(-1.0, end) for end in ends))


def auroc_interval(
    value: float, positives: int, negatives: int, confidence: float = 0.95
) -> Interval:
    """The area under the curve, by the variance that it would have at either end.

    Args:
        value: The area, 0 to 1.
        positives: Clusters with a positive, at least one.
        negatives: Clusters with a negative, at least one.
        confidence: Two-sided level.
    """
    z2 = z_two_sided(confidence) ** 2
    more = (positives + negatives) / 2.0 - 1.0

    def within(area: float) -> bool:
        spread = 1.0 + more * (1.0 - area) / (2.0 - area) + more * area / (1.0 + area)
        variance = area * (1.0 - area) * spread / (positives * negatives)
        return (area - value) ** 2 <= z2 * variance

    def end(outside: float) -> float:
        inside = value
        for _ in range(_STEPS):
            middle = (inside + outside) / 2.0
            inside, outside = (middle, outside) if within(middle) else (inside, middle)
        return inside

    return Interval(0.0 if value == 0.0 else end(0.0), 1.0 if value == 1.0 else end(1.0))
