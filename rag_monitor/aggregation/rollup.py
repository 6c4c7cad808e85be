"""From traces and their scores to one row per app, release, metric, judge and minute. Pure.

What a knowledge base gave passages to is counted once more, as a metric of its own.

Rows of different minutes add up field by field; nothing here looks at a clock or a store.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final

from rag_monitor import telemetry
from rag_monitor.aggregation import keys
from rag_monitor.aggregation.clusters import bucket_of, cluster_of
from rag_monitor.aggregation.fault_sums import add_faults, clear_histograms
from rag_monitor.aggregation.latencies import fine_bucket
from rag_monitor.aggregation.score_sums import Row, Table, add_scores
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.names import OTHER_NAME
from rag_monitor.domain.rollup import (
    HIT_RATE_METRIC,
    LATENCY_BUCKETS_S,
    LATENCY_METRICS,
    ROUTING_METRIC,
    TRACES_METRIC,
    Rollup,
    RollupKey,
    TraceFacts,
    is_history,
)
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.routing import confusions, expected_names, hit_counts, hit_names

MAX_NAMES: Final = 200
"""Hit names per app, release and minute with a row of their own; the rest is `OTHER_NAME`."""
MAX_KNOWLEDGE_BASES: Final = 20
"""Knowledge bases per app, release and minute with estimates of their own."""


_NOWHERE: Final[frozenset[str]] = frozenset()


def _table() -> Table:
    return defaultdict(Totals)


@dataclass(slots=True)
class _Group:
    """The traces of one app, minute and release, and their sums."""

    traces: list[Trace] = field(default_factory=list)
    table: Table = field(default_factory=_table)
    by_sources: dict[frozenset[str], Table] = field(default_factory=lambda: defaultdict(_table))
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
        counted.add_weight(bucket, 1.0)
        _add_latencies(group.table, trace, bucket)
        add_scores(table, fact, bucket)
        add_faults(table, fact, bucket)
    for place, group in groups.items():
        _fold_sources(group)
        clear_histograms(group.table)
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


def _key(place: _Place, row: Row) -> RollupKey:
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


def _add_latencies(table: Table, trace: Trace, bucket: int | None) -> None:
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
        sums.add_weight(bucket, 1.0, float(place))


_LATENCY_BUCKETS_MS: Final = tuple(bound * 1000.0 for bound in LATENCY_BUCKETS_S)


def _add_hits(table: Table, traces: Sequence[Trace]) -> None:
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


def _add_hits_to_buckets(table: Table, traces: Sequence[Trace]) -> None:
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
                sums.add_weight(bucket, weight, counted.hits)


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
