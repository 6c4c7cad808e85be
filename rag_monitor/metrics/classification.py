"""Counts of right and wrong labels, and the rates that follow from them.

A rate whose denominator is 0 is None, never 0: "no negatives" is not a false positive rate of 0.
Accuracy misleads under imbalance, so nothing here reports it alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryCounts:
    """Outcomes for one label against the rest."""

    tp: int = 0
    fp: int = 0
    tn: int = 0
    fn: int = 0

    @property
    def total(self) -> int:
        """All rows."""
        return self.tp + self.fp + self.tn + self.fn

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP)."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """TP / (TP + FN)."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def false_positive_rate(self) -> float | None:
        """FP / (FP + TN)."""
        return _share(self.fp, self.fp + self.tn)

    @property
    def false_negative_rate(self) -> float | None:
        """FN / (FN + TP)."""
        return _share(self.fn, self.fn + self.tp)

    @property
    def accuracy(self) -> float | None:
        """(TP + TN) / all."""
        return _share(self.tp + self.tn, self.total)

    @property
    def f1(self) -> float | None:
        """2 TP / (2 TP + FP + FN)."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """How often each true label was predicted as each label."""

    labels: tuple[str, ...]
    counts: Mapping[tuple[str, str], int]
    """(true, predicted) to rows; pairs that never occurred are absent."""

    @property
    def total(self) -> int:
        """All rows."""
        return sum(self.counts.values())

    @property
    def accuracy(self) -> float:
        """Share of rows whose prediction is the label."""
        return sum(self.counts.get((name, name), 0) for name in self.labels) / self.total

    def of(self, label: str) -> BinaryCounts:
        """One label against the rest.

        Raises:
            KeyError: The label occurs neither as truth nor as prediction.
        """
        if label not in self.labels:
            raise KeyError(f"no label {label!r}; there are {', '.join(self.labels)}")
        tp = self.counts.get((label, label), 0)
        fn = sum(n for (true, _), n in self.counts.items() if true == label) - tp
        fp = sum(n for (_, predicted), n in self.counts.items() if predicted == label) - tp
        return BinaryCounts(tp=tp, fp=fp, fn=fn, tn=self.total - tp - fp - fn)

    def macro(self, rate: str) -> float | None:
        """Unweighted mean of a rate (`precision`, `f1` …) over the labels that have it."""
        values = [
            value for value in (getattr(self.of(n), rate) for n in self.labels) if value is not None
        ]
        return sum(values) / len(values) if values else None

    def micro(self, rate: str) -> float | None:
        """The rate of the pooled counts of all labels."""
        parts = [self.of(name) for name in self.labels]
        pooled = BinaryCounts(
            tp=sum(p.tp for p in parts),
            fp=sum(p.fp for p in parts),
            tn=sum(p.tn for p in parts),
            fn=sum(p.fn for p in parts),
        )
        value: float | None = getattr(pooled, rate)
        return value


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
