"""From traces and their scores to one row per app, release, metric, judge and minute. Pure.

What a knowledge base gave passages to is counted once more, as a metric of its own.

Rows of different minutes add up field by field; nothing here looks at a clock or a store.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final

from rag_monitor import telemetry
from rag_monitor.aggregation import keys
from rag_monitor.aggregation.clusters import bucket_of, cluster_of
from rag_monitor.aggregation.fault_sums import pack, with_fault_scores
from rag_monitor.aggregation.label_eligibility import corrects_judge
from rag_monitor.aggregation.latencies import fine_bucket
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.names import OTHER_NAME
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
    is_history,
)
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import BudgetExhausted
from rag_monitor.metrics.rag import is_bad
from rag_monitor.metrics.routing import confusions, expected_names, hit_counts, hit_names

MAX_NAMES: Final = 200
"""Hit names per app, release and minute with a row of their own; the rest is `OTHER_NAME`."""
MAX_KNOWLEDGE_BASES: Final = 20
"""Knowledge bases per app, release and minute with estimates of their own."""


_Row = tuple[str, str, str]
"""Metric, judge and dimension."""


_Table = dict[_Row, Totals]
_NOWHERE: Final[frozenset[str]] = frozenset()


def _table() -> _Table:
    return defaultdict(Totals)


@dataclass(slots=True)
class _Group:
    """The traces of one app, minute and release, and their sums."""

    traces: list[Trace] = field(default_factory=list)
    table: _Table = field(default_factory=_table)
    by_sources: dict[frozenset[str], _Table] = field(default_factory=lambda: defaultdict(_table))
    """Counts and scores of the traces whose passages came from exactly these knowledge bases."""


_Place = tuple[str, str, datetime, str, date | None]
"""Project, app, minute, release and day of arrival."""


def summarise(facts: Sequence[TraceFacts]) -> list[Rollup]:
    """The rollups of these traces, complete for every minute and day of arrival they touch."""
    groups: dict[_Place, _Group] = defaultdict(_Group)
    clustered = {_place(fact) for fact in facts if cluster_of(fact.trace) is not None}
    for fact in facts:
        trace = fact.trace
        place = _place(fact)
        # Beside sessions a single trace is a cluster, too; without any there is nothing to keep.
        bucket = bucket_of(trace) if place in clustered else None
        group = groups[place]
        group.traces.append(trace)
        sources = hit_names(trace, HitKind.KNOWLEDGE_BASE) if trace.hits else _NOWHERE
        table = group.by_sources[sources]
        counted = table[TRACES_METRIC, "", trace.status.value]
        counted.count += 1
        if fact.received_at is not None and is_history(trace.started_at, fact.received_at):
            counted.add_moment(keys.LATE, 1)
        _add_to_bucket(counted, bucket, 1.0, 0.0)
        _add_latencies(group.table, trace, bucket)
        _add_scores(table, fact, bucket)
        faults = with_fault_scores(fact)
        if faults is not None:
            _add_scores(table, faults, bucket)
    for place, group in groups.items():
        _fold_sources(group)
        pack(group.table)
        traces = _with_bounded_names(group.traces)
        _add_hits(group.table, traces)
        if place in clustered:
            _add_hits_to_buckets(group.table, traces)
    return [
        sums.rollup(_key(place, row))
        for place, group in groups.items()
        for row, sums in group.table.items()
    ]


def _place(fact: TraceFacts) -> _Place:
    trace = fact.trace
    minute = trace.started_at.replace(second=0, microsecond=0)
    return (trace.project, trace.app, minute, trace.release or "", fact.day)


def _fold_sources(group: _Group) -> None:
    """Each trace once under the metric, and once more under each of its knowledge bases."""
    names = _bounded(
        Counter(name for sources in group.by_sources for name in sources), MAX_KNOWLEDGE_BASES
    )
    for sources, table in group.by_sources.items():
        parts = (None, *sorted({names[name] for name in sources}))
        for (metric, judge, dimension), sums in table.items():
            for part in parts:
                row = (keys.of_knowledge_base(metric, part), judge, dimension)
                group.table[row].add(sums)


def _key(place: _Place, row: _Row) -> RollupKey:
    project, app, minute, release, arrived = place
    metric, judge, dimension = row
    return RollupKey(
        project=project,
        app=app,
        metric=metric,
        minute=minute,
        release=release,
        judge=judge,
        dimension=dimension,
        arrived=arrived,
    )


def _add_to_bucket(sums: Totals, bucket: int | None, weight: float, total: float) -> None:
    if bucket is None:
        return
    if weight:
        sums.add_to_bucket("r", bucket, weight)
    if total:
        sums.add_to_bucket("y", bucket, total)


def _add_latencies(table: dict[_Row, Totals], trace: Trace, bucket: int | None) -> None:
    for metric in LATENCY_METRICS:
        value: float | None = getattr(trace.timings, metric)
        if value is None:
            continue
        if not math.isfinite(value) or value < 0:
            telemetry.dropped("aggregation", "impossible_latency")
            continue
        # Values are milliseconds, the bounds of the histogram are seconds.
        sums = table[metric, "", ""]
        sums.add_value(value, _LATENCY_BUCKETS_MS)
        place = fine_bucket(value)
        sums.add_moment(keys.latency_bucket(place), 1)
        _add_to_bucket(sums, bucket, 1.0, float(place))


_LATENCY_BUCKETS_MS: Final = tuple(bound * 1000.0 for bound in LATENCY_BUCKETS_S)


def _add_scores(table: dict[_Row, Totals], fact: TraceFacts, bucket: int | None) -> None:
    for score in fact.scores:
        judge = str(score.judge) if score.judge is not None else ""
        sums = table[score.metric, judge, ""]
        name = score.judge.name if score.judge is not None else ""
        probability = fact.probabilities.get(name, 1.0)
        _add_score(sums, score, probability, bucket)
        if score.status is not ScoreStatus.SCORED:
            _add_unscored(sums, score, probability, fact.scores, bucket)
        if score.status is ScoreStatus.SCORED and score.value is not None:
            _add_pairs(sums, score, probability, fact.scores, bucket)
            label = fact.labels.get(score.metric)
            if label is not None:
                sums.add_moment(keys.HUMAN_LABELLED, 1)
                if corrects_judge(score, fact.probabilities):
                    _add_label(sums, score, label, probability, fact.scores, bucket)


def _add_score(sums: Totals, score: Score, probability: float, bucket: int | None) -> None:
    weight = 1.0 / probability
    if score.status is ScoreStatus.FAILED:
        sums.failed += 1
        if score.reason == BudgetExhausted.reason:
            sums.add_moment(keys.SHED, 1)
    elif score.status is ScoreStatus.NOT_APPLICABLE:
        sums.not_applicable += 1
    elif score.status is ScoreStatus.SUSPECT:
        sums.suspect += 1
        sums.add_moment(keys.SUSPECT_WEIGHT, weight)
        sums.add_moment(keys.SUSPECT_WEIGHT_SQUARES, weight * weight)
    elif score.value is not None:
        _add_value(sums, score, score.value, probability)
        _add_to_bucket(sums, bucket, weight, weight * score.value)


def _add_value(sums: Totals, score: Score, value: float, probability: float) -> None:
    weight = 1.0 / probability
    bad = is_bad(score)
    sums.add_value(value, SCORE_BUCKETS)
    sums.bad += bad
    sums.weight += weight
    sums.weighted_total += weight * value
    sums.weight_squares += weight * weight
    sums.weighted_squares += weight * value * value
    sums.add_moment(keys.W2_TOTAL, weight * weight * value)
    sums.add_moment(keys.W2_SQUARES, (weight * value) ** 2)
    sums.add_moment(keys.WEIGHTED_BAD, weight * bad)
    if probability < 1.0:
        sums.add_moment(keys.judged_at(probability), 1)
        sums.add_moment(keys.bad_at(probability), bad)


def _add_label(
    sums: Totals,
    score: Score,
    label: float,
    probability: float,
    scores: Iterable[Score],
    bucket: int | None,
) -> None:
    """Sums of the correction by people: their label beside this judge's value."""
    verdict = score.value or 0.0
    r, d = 1.0 / probability, label - verdict
    for name, value in (
        ("n", 1.0),
        ("r", r),
        ("rr", r * r),
        ("rd", r * d),
        ("rrd", r * r * d),
        ("rrdd", r * r * d * d),
        ("rrj", r * r * verdict),
        ("rrjd", r * r * verdict * d),
    ):
        sums.add_moment(keys.label(name), value)
    if bucket is not None:
        sums.add_to_bucket("h", bucket, r)
        sums.add_to_bucket("d", bucket, r * d)
    for proxy, f in _proxy_values(score, scores):
        sums.add_moment(keys.label("f", proxy), (r * r - r) * f)
        sums.add_moment(keys.label("fd", proxy), (r * r - r) * f * d)
        sums.add_moment(keys.label("rf", proxy), r * f)
        sums.add_moment(keys.label("rfd", proxy), r * f * d)


def _add_pairs(
    sums: Totals,
    score: Score,
    probability: float,
    scores: Iterable[Score],
    bucket: int | None,
) -> None:
    """Sums of the difference estimate: this judge's value beside the proxy's."""
    ratio = 1.0 / probability
    corrected = ratio * (score.value or 0.0)
    for proxy, f in _proxy_values(score, scores):
        sums.add_moment(keys.pair("n", proxy), 1)
        sums.add_moment(keys.pair("rf", proxy), ratio * f)
        sums.add_moment(keys.pair("rj", proxy), corrected)
        sums.add_moment(keys.pair("rj2", proxy), corrected * corrected)
        sums.add_moment(keys.pair("ff", proxy), f * f * ((ratio - 1.0) ** 2 - 1.0))
        sums.add_moment(keys.pair("jf", proxy), corrected * f * (ratio - 1.0))
        # What the ratio form needs beside these where other verdicts are missing.
        sums.add_moment(keys.pair("r", proxy), ratio)
        sums.add_moment(keys.pair("rrf", proxy), ratio * ratio * f)
        sums.add_moment(keys.pair("rff", proxy), ratio * f * f)
        sums.add_moment(keys.pair("rrjf", proxy), ratio * corrected * f)
        if bucket is not None:
            sums.add_to_bucket(keys.cluster("f", proxy), bucket, ratio * f)


def _add_unscored(
    sums: Totals,
    score: Score,
    probability: float,
    scores: Iterable[Score],
    bucket: int | None,
) -> None:
    """Sums of the difference estimate: draws on which this judge gave no score.

    A failure could have been any trace and only counts. What is not applicable, or suspect, is
    outside the traces that the estimate speaks of, and is taken out by its proxy score.
    """
    if score.judge is None or is_embedded(score.judge.name):
        return
    sums.add_moment(keys.UNSCORED, 1)
    r = 1.0 / probability
    for proxy, f in _proxy_values(score, scores):
        sums.add_moment(keys.pair("x", proxy), 1)
        if score.status is ScoreStatus.FAILED:
            continue
        for name, value in (
            ("out_r", r),
            ("out_rr", r * r),
            ("out_rf", r * f),
            ("out_rrf", r * r * f),
            ("out_rff", r * f * f),
            ("out_rrff", r * r * f * f),
        ):
            sums.add_moment(keys.pair(name, proxy), value)
        if bucket is not None:
            sums.add_to_bucket(keys.cluster("o", proxy), bucket, r)
            sums.add_to_bucket(keys.cluster("f", proxy), bucket, r * f)


def _proxy_values(score: Score, scores: Iterable[Score]) -> Iterator[tuple[str, float]]:
    """The proxies' values beside another judge's; none beside their own."""
    if score.judge is None or is_embedded(score.judge.name):
        return
    for other in scores:
        if (
            other.metric == score.metric
            and other.status is ScoreStatus.SCORED
            and other.value is not None
            and other.judge is not None
            and is_embedded(other.judge.name)
        ):
            yield str(other.judge), other.value


def _add_hits(table: dict[_Row, Totals], traces: Sequence[Trace]) -> None:
    if not any(trace.hits or trace.expected is not None for trace in traces):
        return
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


def _add_hits_to_buckets(table: dict[_Row, Totals], traces: Sequence[Trace]) -> None:
    if not any(trace.hits or trace.expected is not None for trace in traces):
        return
    by_bucket: dict[int, list[Trace]] = defaultdict(list)
    for trace in traces:
        by_bucket[bucket_of(trace)].append(trace)
    for bucket, alike in by_bucket.items():
        for basis in ("all", "expected"):
            for (kind, name), counted in hit_counts(alike, basis).items():
                sums = table[HIT_RATE_METRIC, "", keys.hit_dimension(kind, name, basis)]
                # Over all traces the rows of the traces count: a minute without the name has none.
                weight = counted.traces if basis == "expected" else 0
                _add_to_bucket(sums, bucket, weight, counted.hits)


def _with_bounded_names(traces: Sequence[Trace]) -> list[Trace]:
    seen = Counter(hit.name for trace in traces for hit in trace.hits)
    if len(seen) <= MAX_NAMES and all(len(name) <= keys.MAX_NAME_LENGTH for name in seen):
        return list(traces)
    names = _bounded(seen, MAX_NAMES)
    return [
        replace(trace, hits=tuple(replace(hit, name=names[hit.name]) for hit in trace.hits))
        for trace in traces
    ]


def _bounded(seen: Counter[str], most: int) -> Mapping[str, str]:
    """Names come from outside: cut them, and fold the rarest beyond the limit."""
    kept = {name: name[: keys.MAX_NAME_LENGTH] for name, _ in seen.most_common(most)}
    return {name: kept.get(name, OTHER_NAME) for name in seen}
