"""How judges agree with people: marks on live traces against the scores of the same traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.domain.stored import LabelledScore
from rag_monitor.metrics.rag.scoring import BAD_BELOW
from rag_monitor.statistics.agreement import (
    BinaryAgreement,
    Kappa,
    auroc,
    auroc_interval,
    binary_agreement,
    cohen_kappa,
    kappa_interval,
    mean_of_two_interval,
)
from rag_monitor.statistics.reliability import Reliability, ReliabilityTally
from rag_monitor.statistics.wilson import Interval

ENOUGH: Final = 20
"""Fewer labelled traces than this tell nothing about a judge: a single mark would make κ 1."""
OF_EACH: Final = 5
"""Nor do fewer good or bad ones: who calls every answer good is right on twenty good ones, too."""
PROBABILITY: Final = "answer_supported"
"""The score that claims to be a probability, so that it has a calibration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAgreement:
    """One metric of one judge against people. The positive class is a good answer."""

    metric: str
    cells: BinaryAgreement
    kappa: Kappa
    auroc: float | None
    """None without both classes."""
    reliability: Reliability | None = None
    """Of the metric that claims a probability only, and of enough marks."""

    @property
    def count(self) -> int:
        """Labelled traces."""
        return self.cells.tp + self.cells.fp + self.cells.tn + self.cells.fn

    @property
    def good(self) -> int:
        """Labelled traces that people called good."""
        return self.cells.tp + self.cells.fn

    @property
    def bad(self) -> int:
        """Labelled traces that people called bad."""
        return self.cells.tn + self.cells.fp

    @property
    def telling(self) -> bool:
        """Whether so many labels say anything about the judge."""
        return self.count >= ENOUGH and min(self.good, self.bad) >= OF_EACH

    @property
    def balanced_accuracy_interval(self) -> Interval | None:
        """None without both classes."""
        if not (self.good and self.bad):
            return None
        recalls = (self.cells.tp / self.good, self.good), (self.cells.tn / self.bad, self.bad)
        return mean_of_two_interval(*recalls)

    @property
    def kappa_interval(self) -> Interval:
        """Of a kappa without spread, such as that of a judge never wrong, what its marks allow."""
        if self.kappa.se > 0 or self.kappa.value < 1.0 or not (self.good and self.bad):
            return self.kappa.interval
        share = self.good / self.count  # both call the same ones good
        return kappa_interval(1.0, share**2 + (1.0 - share) ** 2, self.count)

    @property
    def auroc_interval(self) -> Interval | None:
        """None without both classes."""
        return None if self.auroc is None else auroc_interval(self.auroc, self.good, self.bad)


def agreement_by_judge(rows: Iterable[LabelledScore]) -> dict[str, list[MetricAgreement]]:
    """Per judge, its metrics that people marked, most labelled first."""
    grouped: dict[tuple[str, str], list[LabelledScore]] = defaultdict(list)
    for row in rows:
        if row.label != 0.5:  # people who are unsure confirm and refute nothing
            grouped[row.judge, row.metric].append(row)
    by_judge: dict[str, list[MetricAgreement]] = defaultdict(list)
    for (judge, metric), members in grouped.items():
        by_judge[judge].append(_agreement(metric, members))
    return {
        judge: sorted(each, key=lambda one: (-one.count, one.metric))
        for judge, each in by_judge.items()
    }


def _agreement(metric: str, rows: Sequence[LabelledScore]) -> MetricAgreement:
    labels = [row.label > 0.5 for row in rows]
    judged = [_good(row) for row in rows]
    values = [row.value for row in rows]
    claims = metric == PROBABILITY and len(rows) >= ENOUGH
    return MetricAgreement(
        metric=metric,
        cells=binary_agreement(judged, labels),
        kappa=cohen_kappa(judged, labels),
        auroc=auroc(values, labels),
        reliability=_reliability(values, labels) if claims else None,
    )


def _good(row: LabelledScore) -> bool:
    """`answer_supported` knows by the judge's own threshold, as in the estimates."""
    if row.flagged is not None:
        return not row.flagged
    return row.value >= BAD_BELOW.get(row.metric, 0.5)


def _reliability(values: Sequence[float], labels: Sequence[bool]) -> Reliability | None:
    tally = ReliabilityTally()
    for value, good in zip(values, labels, strict=True):
        tally.add(value, good)
    return tally.report()
