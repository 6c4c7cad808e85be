"""Traffic, latency, hits and bad answers: one figure per step of a window, from rollups alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.combine import BadCount, bad_count
from rag_monitor.aggregation.latencies import LatencySummary, latency_summary
from rag_monitor.aggregation.totals import sum_of
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import HIT_RATE_METRIC, TRACES_METRIC, Rollup
from rag_monitor.domain.selection import Selection


class SteppedRows(Protocol):
    """Where the rows come from: `Estimates`."""

    def step_rows(
        self, selection: Selection, metric: str, step: timedelta
    ) -> Sequence[Sequence[Rollup]]:
        """The rows of each step of the window, oldest first."""
        ...


def traces_by_step(
    source: SteppedRows, selection: Selection, step: timedelta
) -> list[Mapping[str, int]]:
    """Traces by status, per step of the window, oldest first."""
    counts: list[Mapping[str, int]] = []
    for rows in source.step_rows(selection, TRACES_METRIC, step):
        by_status: Counter[str] = Counter()
        for row in rows:
            by_status[row.key.dimension] += row.count
        counts.append(by_status)
    return counts


def latency_by_step(
    source: SteppedRows, selection: Selection, metric: str, step: timedelta
) -> list[LatencySummary]:
    """Percentiles (milliseconds) of one latency, per step of the window, oldest first."""
    return [latency_summary(sum_of(rows)) for rows in source.step_rows(selection, metric, step)]


def hits_by_step(
    source: SteppedRows, selection: Selection, kind: HitKind, name: str, basis: str, step: timedelta
) -> list[tuple[int, int]]:
    """Traces with a hit of that name, and of how many, per step of the window, oldest first.

    Args:
        source: Where the rows come from.
        selection: Of which traces.
        kind: Plugin, knowledge base or workflow.
        name: Its name.
        basis: `all` traces, or those that `expected` it.
        step: The length of time that a figure stands for.
    """
    dimension = keys.hit_dimension(kind, name, basis)
    hits = [
        sum_of(row for row in rows if row.key.dimension == dimension)
        for rows in source.step_rows(selection, HIT_RATE_METRIC, step)
    ]
    if basis == "expected":
        return [(round(one.total), one.count) for one in hits]
    counts = traces_by_step(source, selection, step)
    return [
        (round(one.total), sum(by_status.values()))
        for one, by_status in zip(hits, counts, strict=True)
    ]


def bad_by_step(
    source: SteppedRows, selection: Selection, metric: str, judge: str, step: timedelta
) -> list[BadCount]:
    """Judged and bad traces of one judge per step, oldest first."""
    return [
        bad_count(sum_of(row for row in rows if row.key.judge == judge), judge)
        for rows in source.step_rows(selection, metric, step)
    ]
