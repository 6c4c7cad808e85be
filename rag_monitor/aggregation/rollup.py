"""From traces and their scores to one row per app, release, metric, judge and minute. Pure.

Rows of different minutes add up field by field; nothing here looks at a clock or a store.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from rag_monitor import telemetry
from rag_monitor.aggregation import keys
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import (
    HIT_RATE_METRIC,
    LATENCY_BUCKETS_S,
    LATENCY_METRICS,
    ROUTING_METRIC,
    SCORE_BUCKETS,
    TRACES_METRIC,
    Rollup,
    RollupKey,
    TraceFacts,
)
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import BudgetExhausted
from rag_monitor.metrics.latency import bucket_of
from rag_monitor.metrics.rag import is_bad
from rag_monitor.metrics.routing import confusions, expected_names, hit_counts

MAX_NAMES: Final = 200
"""Hit names per app, release and minute with a row of their own; the rest is `OTHER_NAME`."""
MAX_NAME_LENGTH: Final = 128
OTHER_NAME: Final = "(other)"


@dataclass(slots=True)
class _Sums:
    """A rollup while it is being filled."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    bad: int = 0
    failed: int = 0
    not_applicable: int = 0
    suspect: int = 0
    histogram: list[int] = field(default_factory=list)
    weight: float = 0.0
    weighted_total: float = 0.0
    weight_squares: float = 0.0
    weighted_squares: float = 0.0
    moments: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, value: float, bounds: Sequence[float]) -> None:
        """Count one value, its square and its place in the histogram."""
        self.count += 1
        self.total += value
        self.squares += value * value
        if not self.histogram:
            self.histogram = [0] * (len(bounds) + 1)
        self.histogram[bucket_of(value, bounds)] += 1

    def frozen(self, key: RollupKey) -> Rollup:
        """The finished row."""
        return Rollup(
            key=key,
            count=self.count,
            total=self.total,
            squares=self.squares,
            bad=self.bad,
            failed=self.failed,
            not_applicable=self.not_applicable,
            suspect=self.suspect,
            histogram=tuple(self.histogram),
            weight=self.weight,
            weighted_total=self.weighted_total,
            weight_squares=self.weight_squares,
            weighted_squares=self.weighted_squares,
            moments=dict(self.moments),
        )


_Row = tuple[str, str, str]
"""Metric, judge and dimension."""


@dataclass(slots=True)
class _Group:
    """The traces of one app, minute and release, and their sums."""

    traces: list[Trace] = field(default_factory=list)
    table: dict[_Row, _Sums] = field(default_factory=lambda: defaultdict(_Sums))


_Place = tuple[str, str, datetime, str]
"""Project, app, minute and release."""


def summarise(facts: Sequence[TraceFacts]) -> list[Rollup]:
    """The rollups of these traces, complete for every minute they touch."""
    groups: dict[_Place, _Group] = defaultdict(_Group)
    for fact in facts:
        trace = fact.trace
        group = groups[_place(trace)]
        group.traces.append(trace)
        group.table[TRACES_METRIC, "", trace.status.value].count += 1
        _add_latencies(group.table, trace)
        _add_scores(group.table, fact)
    for group in groups.values():
        _add_hits(group.table, _with_bounded_names(group.traces))
    return [
        sums.frozen(_key(place, row))
        for place, group in groups.items()
        for row, sums in group.table.items()
    ]


def _place(trace: Trace) -> _Place:
    minute = trace.started_at.replace(second=0, microsecond=0)
    return (trace.project, trace.app, minute, trace.release or "")


def _key(place: _Place, row: _Row) -> RollupKey:
    project, app, minute, release = place
    metric, judge, dimension = row
    return RollupKey(
        project=project,
        app=app,
        metric=metric,
        minute=minute,
        release=release,
        judge=judge,
        dimension=dimension,
    )


def _add_latencies(table: dict[_Row, _Sums], trace: Trace) -> None:
    for metric in LATENCY_METRICS:
        value: float | None = getattr(trace.timings, metric)
        if value is None:
            continue
        if not math.isfinite(value) or value < 0:
            telemetry.dropped("aggregation", "impossible_latency")
            continue
        # Values are milliseconds, the bounds of the histogram are seconds.
        table[metric, "", ""].add(value, _LATENCY_BUCKETS_MS)


_LATENCY_BUCKETS_MS: Final = tuple(bound * 1000.0 for bound in LATENCY_BUCKETS_S)


def _add_scores(table: dict[_Row, _Sums], fact: TraceFacts) -> None:
    for score in fact.scores:
        judge = str(score.judge) if score.judge is not None else ""
        sums = table[score.metric, judge, ""]
        name = score.judge.name if score.judge is not None else ""
        probability = fact.probabilities.get(name, 1.0)
        _add_score(sums, score, probability)
        if score.status is ScoreStatus.SCORED and score.value is not None:
            _add_pairs(sums, score, probability, fact.scores)


def _add_score(sums: _Sums, score: Score, probability: float) -> None:
    weight = 1.0 / probability
    if score.status is ScoreStatus.FAILED:
        sums.failed += 1
        if score.reason == BudgetExhausted.reason:
            sums.moments[keys.SHED] += 1
    elif score.status is ScoreStatus.NOT_APPLICABLE:
        sums.not_applicable += 1
    elif score.status is ScoreStatus.SUSPECT:
        sums.suspect += 1
        sums.moments[keys.SUSPECT_WEIGHT] += weight
        sums.moments[keys.SUSPECT_WEIGHT_SQUARES] += weight * weight
    elif score.value is not None:
        _add_value(sums, score, score.value, probability)


def _add_value(sums: _Sums, score: Score, value: float, probability: float) -> None:
    weight = 1.0 / probability
    bad = is_bad(score)
    sums.add(value, SCORE_BUCKETS)
    sums.bad += bad
    sums.weight += weight
    sums.weighted_total += weight * value
    sums.weight_squares += weight * weight
    sums.weighted_squares += weight * value * value
    sums.moments[keys.W2_TOTAL] += weight * weight * value
    sums.moments[keys.W2_SQUARES] += (weight * value) ** 2
    sums.moments[keys.WEIGHTED_BAD] += weight * bad
    if probability < 1.0:
        sums.moments[keys.judged_at(probability)] += 1
        sums.moments[keys.bad_at(probability)] += bad


def _add_pairs(sums: _Sums, score: Score, probability: float, scores: Iterable[Score]) -> None:
    """Sums of the difference estimate: this judge's value beside the cheap one's."""
    if score.judge is None or score.value is None or keys.is_cheap(score.judge.name):
        return
    ratio = 1.0 / probability
    corrected = ratio * score.value
    for other in scores:
        if (
            other.metric != score.metric
            or other.status is not ScoreStatus.SCORED
            or other.value is None
            or other.judge is None
            or not keys.is_cheap(other.judge.name)
        ):
            continue
        cheap = str(other.judge)
        f = other.value
        sums.moments[keys.pair("n", cheap)] += 1
        sums.moments[keys.pair("rf", cheap)] += ratio * f
        sums.moments[keys.pair("rj", cheap)] += corrected
        sums.moments[keys.pair("rj2", cheap)] += corrected * corrected
        sums.moments[keys.pair("ff", cheap)] += f * f * ((ratio - 1.0) ** 2 - 1.0)
        sums.moments[keys.pair("jf", cheap)] += corrected * f * (ratio - 1.0)


def _add_hits(table: dict[_Row, _Sums], traces: Sequence[Trace]) -> None:
    for basis in ("all", "expected"):
        for (kind, name), counted in hit_counts(traces, basis).items():
            sums = table[HIT_RATE_METRIC, "", keys.hit_dimension(kind, name, basis)]
            sums.count += counted.traces
            sums.total += counted.hits
    for row in confusions(traces):
        for cell in ("tp", "fp", "tn", "fn"):
            count: int = getattr(row, cell)
            if count:
                dimension = keys.hit_dimension(row.kind, row.name, cell)
                table[ROUTING_METRIC, "", dimension].count += count
    for kind in HitKind:
        labelled = sum(expected_names(trace, kind) is not None for trace in traces)
        if labelled:
            dimension = keys.hit_dimension(kind, "", keys.LABELLED)
            table[ROUTING_METRIC, "", dimension].count += labelled


def _with_bounded_names(traces: Sequence[Trace]) -> list[Trace]:
    """Names come from outside: cut them, and fold the rarest beyond the limit."""
    seen = Counter(hit.name for trace in traces for hit in trace.hits)
    if len(seen) <= MAX_NAMES and all(len(name) <= MAX_NAME_LENGTH for name in seen):
        return list(traces)
    kept = {name: name[:MAX_NAME_LENGTH] for name, _ in seen.most_common(MAX_NAMES)}
    return [
        replace(
            trace,
            hits=tuple(replace(hit, name=kept.get(hit.name, OTHER_NAME)) for hit in trace.hits),
        )
        for trace in traces
    ]
