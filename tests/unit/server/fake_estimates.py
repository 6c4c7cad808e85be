"""Estimates that are there without rollups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Self

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.latencies import fine_bucket
from rag_monitor.aggregation.steps import steps
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import SCORE_BUCKETS, TRACES_METRIC, Rollup, RollupKey
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.metrics.routing import Confusion
from rag_monitor.statistics.wilson import wilson_interval
from rag_monitor.testing import ManualClock
from tests.unit.server.story import JUDGE


@dataclass
class Latency:
    count: int
    p50: float | None
    p90: float | None
    p99: float | None
    mean: float | None

    def quantile(self, share: float) -> float | None:
        return {0.5: self.p50, 0.9: self.p90, 0.99: self.p99}[share]

    def interval(self, share: float) -> tuple[float | None, float | None]:
        """A tenth to either side; none above the p99."""
        value = self.quantile(share)
        if value is None:
            return None, None
        return 0.9 * value, None if share == 0.99 else 1.1 * value


_LEVELS = {
    "faithfulness": 0.91,
    "answer_supported": 0.84,
    "answer_relevance": 0.88,
    "context_relevance": 0.63,
    "context_precision": 0.71,
    "context_utilization": 0.48,
    "context_recall": 0.76,
    "refusal_rate": 0.04,
    **dict.fromkeys(FAULT_METRICS, 0.0),
    "fault:none": 0.84,
    "fault:invented": 0.09,
    "fault:missed_retrieval": 0.05,
    "fault:needless_refusal": 0.02,
}
_STEADY = frozenset({"refusal_rate", *FAULT_METRICS})


def _scores(low: int, high: int) -> list[int]:
    """Scores of about a third, and of about 0.95, by the buckets of rollups."""
    counts = [0] * (len(SCORE_BUCKETS) + 1)
    counts[6], counts[18] = low, high
    return counts


class FakeEstimates:
    """Smooth curves; the second half of the day of `loan-assistant` is bad."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def once(
        self, apps: Sequence[str] = (), metrics: Sequence[str] = (), drawn: Sequence[str] = ()
    ) -> Self:
        return self

    def estimate(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate:
        level = _LEVELS.get(series.metric)
        # Like the rollups: scores are kept under the judge that gave them, and under no other.
        if level is None or series.judge not in {COMBINED, str(JUDGE)}:
            return Estimate(series=series, window=window, value=None, lower=None, upper=None)
        middle = window.start + window.length / 2
        hours = (self._clock.now() - middle).total_seconds() / 3600
        value = (
            level
            if series.metric in FAULT_METRICS
            else level + 0.02 * math.sin(hours * 2.1 + len(series.metric))
        )
        if series.app == "loan-assistant" and hours < 5 and series.metric not in _STEADY:
            value -= 0.28 * min(1.0, (5 - hours) / 2)
        count = max(3, int(window.length.total_seconds() / 40))
        half = min(0.2, 1 / math.sqrt(count))
        return Estimate(
            series=series,
            window=window,
            value=value,
            lower=max(0.0, value - half),
            upper=min(1.0, value + half),
            traces=count,
            judged=int(count * 0.97),
            rests_on=str(JUDGE),
            labelled=12,
            failed=int(count * 0.012),
            suspect=1,
            effective=count * 0.9,
            notes=("embedded_uncorrected",),
        )

    def score_counts(self, series: Series, window: Window) -> list[dict[str, Sequence[int]]]:
        """Faithfulness was nearly always high before the newest release; a third was relevant.

        Another judge gave few scores.
        """
        if series.metric == "faithfulness":
            return [
                {"2.0.3": _scores(low=3, high=97), "2.1.0": _scores(low=50, high=50)},
                {"2.1.0": _scores(low=9, high=9)},
            ]
        if series.metric == "context_relevance":
            return [{"2.0.3": _scores(low=60, high=40), "2.1.0": _scores(low=50, high=50)}]
        return []

    def judges(self, series: Series, window: Window) -> list[str]:
        return [str(JUDGE)]

    def coverage(self, selection: Selection) -> list[tuple[str, int]]:
        return [(str(JUDGE), 61), ("embedded-lexical/1", 1)]

    def judged_series(self, selection: Selection) -> list[Series]:
        return [selection.series("faithfulness", str(JUDGE))]

    def series(self, series: Series, window: Window, step: timedelta) -> list[Estimate]:
        points = []
        start = window.start
        while start < window.end:
            end = min(start + step, window.end)
            points.append(self.estimate(series, Window(start, end)))
            start = end
        return points

    def latency(self, selection: Selection, metric: str) -> Latency:
        scale = {"first_byte_ms": 1.0, "generation_ms": 3.2, "end_to_end_ms": 4.1}.get(metric, 0.3)
        return Latency(2160, 310 * scale, 640 * scale, 1490 * scale, 400 * scale)

    def step_rows(self, selection: Selection, metric: str, step: timedelta) -> list[list[Rollup]]:
        """Ten traces a step and one that failed; each takes a second, twice as long lately."""
        rows = []
        for number, window in enumerate(steps(selection.window, step)):
            key = RollupKey(
                project=selection.project, app=selection.app, metric=metric, minute=window.start
            )
            if metric == TRACES_METRIC:
                counts = {"ok": 10 + number % 4, "error": 1}
                rows.append(
                    [
                        Totals(count=count).rollup(replace(key, dimension=status))
                        for status, count in counts.items()
                    ]
                )
            else:
                fine = {keys.latency_bucket(fine_bucket(1000.0 + 50 * number)): 11.0}
                rows.append([Totals(count=11, total=11e3, moments=fine).rollup(key)])
        return rows

    def hit_rate(self, selection: Selection, kind: HitKind, name: str, basis: str) -> Estimate:
        value = 0.87 if basis == "expected" else 0.42
        return Estimate(
            series=selection.series("hit_rate"),
            window=selection.window,
            value=value,
            lower=value - 0.03,
            upper=value + 0.03,
            traces=2160,
        )

    def hit_names(self, selection: Selection) -> list[tuple[HitKind, str]]:
        return [
            (
                HitKind.KNOWLEDGE_BASE,
                "贷款知识库" if selection.app == "loan-assistant" else "manuals",
            ),
            (HitKind.PLUGIN, "calculator"),
            (HitKind.WORKFLOW, "escalation"),
        ]

    def knowledge_bases(self, selection: Selection) -> list[str]:
        names = self.hit_names(selection)
        return [name for kind, name in names if kind is HitKind.KNOWLEDGE_BASE]

    def routing(self, selection: Selection) -> list[Confusion]:
        return [Confusion(kind=HitKind.PLUGIN, name="calculator", tp=87, fp=4, tn=190, fn=13)]

    def status_share(self, selection: Selection, status: TraceStatus) -> Estimate:
        counts = self.traces(selection)
        total, ended = sum(counts.values()), counts.get(status.value, 0)
        ends = wilson_interval(ended, total) if total else None
        return Estimate(
            series=selection.series(f"traces:{status.value}"),
            window=selection.window,
            value=ended / total if total else None,
            lower=ends.lower if ends else None,
            upper=ends.upper if ends else None,
            traces=total,
            judged=total,
        )

    def traces(self, selection: Selection) -> dict[str, int]:
        return {"ok": 2117, "error": 31, "cancelled": 12}
