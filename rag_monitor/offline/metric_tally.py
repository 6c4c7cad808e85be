"""Adds up one metric over any number of rows in constant memory."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.metrics.latency import PERCENTILES
from rag_monitor.offline.missing import Missing, MissingTally
from rag_monitor.offline.report.model import Figure, Histogram, Latency, MetricReport
from rag_monitor.statistics.moments import mean_from_sums, t_interval
from rag_monitor.statistics.wilson import effective_wilson

_BINS: Final = 20
_DIGITS: Final = 4
"""Of a time; what it is counted by, so that memory does not grow with the rows."""
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

    def figure(self, *, bounded: bool = True, least: float = -math.inf) -> Figure | None:
        """The mean with its 95 % interval, or None without values.

        Scores between 0 and 1 get the effective-count Wilson interval, others Student's t. One
        value has no interval.

        Args:
            bounded: Values lie between 0 and 1.
            least: No value is smaller, so no interval reaches below.
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
        lower = max(least, reach.lower)
        return Figure(value=mean.value, lower=lower, upper=reach.upper, n=self.count)


class MetricTally:
    """One metric.

    Args:
        name: Its name.
        family: Who computes it, for the report.
        top: Power of ten at which the histogram of logarithms ends; None: values lie between 0
            and 1.
    """

    def __init__(self, name: str, family: str, top: float | None = None) -> None:
        self.name = name
        self._family = family
        self._top = top
        self._missing = MissingTally()
        self._sums = Sums()
        self._statuses: Counter[ScoreStatus] = Counter()
        self._reasons: Counter[str] = Counter()
        self._bins = [0] * _BINS
        self._smallest = math.inf
        self._largest = -math.inf

    def add(self, score: Score) -> None:
        """Count one score."""
        self._statuses[score.status] += 1
        self._missing.add(score)
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
        share = value if self._top is None else math.log10(max(1.0, value)) / self._top
        return min(_BINS - 1, max(0, int(share * _BINS)))

    def missing(self, unreadable: int, rows: int) -> Missing:
        """Rows without a score that should have one, see `MissingTally.report`."""
        return self._missing.report(unreadable, rows)

    def report(self) -> MetricReport:
        """What was counted so far."""
        figure = self._sums.figure(bounded=self._top is None, least=0.0)
        edges = (
            place / _BINS if self._top is None else 10 ** (place / _BINS * self._top)
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


class LatencyTally:
    """Percentiles of any number of times, to four digits."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()

    def add(self, milliseconds: float) -> None:
        """Count one time."""
        self._counts[float(f"{milliseconds:.{_DIGITS}g}")] += 1

    def report(self) -> Latency | None:
        """The percentiles; None without times."""
        count = self._counts.total()
        if not count:
            return None
        percentiles = {name: self._percentile(share, count) for name, share in PERCENTILES.items()}
        return Latency(**percentiles, n=count)

    def _percentile(self, share: float, count: int) -> float:
        """The `share` quantile with linear interpolation (Hyndman and Fan's type 7, as NumPy)."""
        place = (count - 1) * share
        below, above = self._at(int(place)), self._at(min(int(place) + 1, count - 1))
        return below + (above - below) * (place - int(place))

    def _at(self, place: int) -> float:
        for value in sorted(self._counts):
            place -= self._counts[value]
            if place < 0:
                return value
        raise IndexError("a place beyond the last time")
