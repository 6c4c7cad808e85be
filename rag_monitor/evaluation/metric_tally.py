"""Adds up one metric over any number of rows in constant memory."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.evaluation.report.model import Figure, Histogram, MetricReport
from rag_monitor.statistics.effective import effective_wilson
from rag_monitor.statistics.moments import mean_from_sums
from rag_monitor.statistics.student import t_interval

_BINS: Final = 20
_WIDE_TOP: Final = 4.0
"""Perplexity is binned by its logarithm, from 1 to 10⁴."""
_REASONS_KEPT: Final = 50
_OTHER_REASONS: Final = "other"


class Sums:
    """Count, sum and squares of values."""

    __slots__ = ("count", "squares", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.squares = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.count += 1
        self.total += value
        self.squares += value * value

    def figure(self, *, bounded: bool = True) -> Figure | None:
        """The mean with its 95 % interval, or None without values.

        Scores between 0 and 1 get the effective-count Wilson interval, others Student's t. One
        value has no interval.
        """
        if not self.count:
            return None
        mean = mean_from_sums(self.count, self.total, self.squares)
        if self.count < 2:
            return Figure(value=mean.value, n=self.count)
        if bounded and 0 <= mean.value <= 1:
            ends = effective_wilson(mean.value, mean.se, self.count)
            return Figure(value=mean.value, lower=ends.lower, upper=ends.upper, n=self.count)
        reach = t_interval(mean, self.count)
        return Figure(value=mean.value, lower=reach.lower, upper=reach.upper, n=self.count)


class MetricTally:
    """One metric.

    Args:
        name: Its name.
        family: Who computes it, for the report.
        bounded: Values lie between 0 and 1.
    """

    def __init__(self, name: str, family: str, *, bounded: bool = True) -> None:
        self.name = name
        self._family = family
        self._bounded = bounded
        self._sums = Sums()
        self._statuses: Counter[ScoreStatus] = Counter()
        self._reasons: Counter[str] = Counter()
        self._bins = [0] * _BINS
        self._smallest = math.inf
        self._largest = -math.inf

    def add(self, score: Score) -> None:
        """Count one score."""
        self._statuses[score.status] += 1
        if score.status is not ScoreStatus.SCORED or score.value is None:
            reason = (score.reason or score.status.value)[:120]
            if reason not in self._reasons and len(self._reasons) >= _REASONS_KEPT:
                reason = _OTHER_REASONS
            self._reasons[reason] += 1
            return
        self._sums.add(score.value)
        self._bins[self._place(score.value)] += 1
        self._smallest = min(self._smallest, score.value)
        self._largest = max(self._largest, score.value)

    def _place(self, value: float) -> int:
        share = value if self._bounded else math.log10(max(1.0, value)) / _WIDE_TOP
        return min(_BINS - 1, max(0, int(share * _BINS)))

    def report(self) -> MetricReport:
        """What was counted so far."""
        figure = self._sums.figure(bounded=self._bounded)
        edges = (
            place / _BINS if self._bounded else 10 ** (place / _BINS * _WIDE_TOP)
            for place in range(_BINS + 1)
        )
        return MetricReport(
            name=self.name,
            family=self._family,
            mean=figure.value if figure else None,
            lower=figure.lower if figure else None,
            upper=figure.upper if figure else None,
            scored=self._statuses[ScoreStatus.SCORED],
            not_applicable=self._statuses[ScoreStatus.NOT_APPLICABLE],
            failed=self._statuses[ScoreStatus.FAILED],
            suspect=self._statuses[ScoreStatus.SUSPECT],
            reasons=dict(self._reasons.most_common()),
            smallest=self._smallest if figure else None,
            largest=self._largest if figure else None,
            histogram=Histogram(edges=tuple(edges), counts=tuple(self._bins)) if figure else None,
        )
