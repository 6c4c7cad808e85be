"""How well a judge agrees with people: kappa, AUROC, balanced accuracy, F1, with intervals.

Sources: Cohen 1960; Fleiss, Cohen and Everitt 1969 (variance of kappa); Hanley and McNeil 1982
(AUROC as a rank statistic). Statements of one trace are not independent: bootstrap whole clusters.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rag_monitor.statistics.wilson import Interval, z_two_sided

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
