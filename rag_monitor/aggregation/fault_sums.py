"""The sums that shares of faults are estimated from: those of scores, kept in one row.

The probability that a judge gives a fault is its prediction of 1 or 0, what a person says of the
fault is the label, and the rest is as for any score: weights, a proxy, the correction by people.
The share of each fault is a metric of its own (`domain.fault.FAULT_METRICS`).

Fourteen rows a minute would hold the same counts and weights fourteen times. So one row holds the
sums as if every probability and every label were 0, and, in further moments and sums per bucket of
clusters, what each fault adds to them; most faults add nothing. All of it adds up field by field,
as any rollup does.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.fault import FAULT_METRIC, FAULT_METRICS, Fault
from rag_monitor.domain.rollup import CLUSTER_BUCKETS, Rollup, TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus

T = TypeVar("T")
Row = tuple[str, str, str]
"""Metric, judge and dimension."""

_PART: Final = "f."
_EMPTY: Final = (0.0,) * CLUSTER_BUCKETS
_WEIGHTED: Final = {
    "weighted_total": "total",
    "weighted_squares": "squares",
    keys.W2_TOTAL: "total",
    keys.W2_SQUARES: "squares",
}
"""Sums that are the same as another one while every trace is judged: kept less that one, as 0."""
_FIELDS: Final = ("total", "squares", "weighted_total", "weighted_squares")


def with_fault_scores(facts: TraceFacts) -> TraceFacts | None:
    """The same trace with the shares of faults in place of its scores; None: nobody diagnosed it.

    A judge that failed on the trace has failed on its faults; a trace that it could say nothing
    of, or whose text tried to influence it, counts as for any score.
    """
    if not facts.faults:
        return None
    by_judge: dict[str, list[Score]] = {}
    for score in facts.scores:
        if score.judge is not None:
            by_judge.setdefault(str(score.judge), []).append(score)
    scores: list[Score] = []
    for judge, own in by_judge.items():
        probabilities = facts.faults.get(judge)
        status = ScoreStatus.SCORED if probabilities is not None else _status(own)
        reason = next((score.reason for score in own if score.status is status), None)
        for metric, fault in _METRICS:
            value = (probabilities or {}).get(fault, 0.0) if fault is not None else 0.0
            scores.append(
                Score(
                    metric=metric,
                    status=status,
                    value=value if status is ScoreStatus.SCORED else None,
                    reason=reason if status is not ScoreStatus.SCORED else None,
                    judge=own[0].judge,
                )
            )
    labels = {metric: value for metric, value in facts.labels.items() if metric in FAULT_METRICS}
    if labels:
        labels[FAULT_METRIC] = 0.0
    return replace(facts, scores=tuple(scores), labels=labels)


_METRICS: Final[Sequence[tuple[str, Fault | None]]] = (
    (FAULT_METRIC, None),
    *FAULT_METRICS.items(),
)


def _status(scores: Sequence[Score]) -> ScoreStatus:
    """Of the faults, where a judge gave no diagnosis."""
    statuses = {score.status for score in scores}
    for status in (ScoreStatus.FAILED, ScoreStatus.SUSPECT):
        if status in statuses:
            return status
    return ScoreStatus.NOT_APPLICABLE


def pack(table: MutableMapping[Row, Totals]) -> None:
    """Put what each fault adds into the row of all faults, and take its own row out."""
    for metric, judge, dimension in list(table):
        if not keys.is_of_faults(metric):
            continue
        row = table[metric, judge, dimension]
        zero = replace(row, moments=dict(row.moments), clusters=dict(row.clusters))
        of_base = metric.removeprefix(FAULT_METRIC)
        for name, fault in FAULT_METRICS.items():
            own = table.pop((name + of_base, judge, dimension), None)
            if own is not None:
                _add_part(row, zero, own, fault)
        row.histogram = []


def _add_part(row: Totals, zero: Totals, own: Totals, fault: Fault) -> None:
    added = {name: getattr(own, name) - getattr(zero, name) for name in _FIELDS}
    names = own.moments.keys() | zero.moments.keys()
    added |= {name: own.moment(name) - zero.moment(name) for name in sorted(names)}
    for name, same in _WEIGHTED.items():
        added[name] = added.get(name, 0.0) - added[same]
    for name in ("weighted_squares", "weighted_total", "squares", "total", *sorted(names)):
        if added[name]:
            row.moments[_part(fault, name)] = added[name]
    for name, sums in own.clusters.items():
        base = zero.clusters.get(name, _EMPTY)
        buckets = [value - other for value, other in zip(sums, base, strict=True)]
        if any(buckets):
            row.clusters[_part(fault, name)] = buckets


def _part(fault: Fault, name: str) -> str:
    return f"{_PART}{fault.value}:{name}"


def rollup_metric(metric: str) -> str:
    """Under which metric rollups keep the sums of `metric`."""
    return FAULT_METRIC if metric in FAULT_METRICS else metric


def of_metric(rows: Sequence[Rollup], metric: str) -> Sequence[Rollup]:
    """Rows of `rollup_metric(metric)` as rows of that metric."""
    fault = FAULT_METRICS.get(metric)
    return rows if fault is None else [_of_fault(row, fault) for row in rows]


def _of_fault(row: Rollup, fault: Fault) -> Rollup:
    moments, added = _parts(row.moments, fault)
    for name, same in _WEIGHTED.items():
        added[name] = added.get(name, 0.0) + added.get(same, 0.0)
    sums = {name: getattr(row, name) + added.pop(name, 0.0) for name in _FIELDS}
    for name, value in added.items():
        moments[name] = moments.get(name, 0.0) + value
    clusters, buckets = _parts(row.clusters, fault)
    for name, values in buckets.items():
        base = clusters.get(name, _EMPTY)
        clusters[name] = [a + b for a, b in zip(base, values, strict=True)]
    return replace(row, moments=moments, clusters=clusters, **sums)


def _parts(sums: Mapping[str, T], fault: Fault) -> tuple[dict[str, T], dict[str, T]]:
    """The sums that all faults share, and what this one adds."""
    prefix = _part(fault, "")
    shared: dict[str, T] = {}
    added: dict[str, T] = {}
    for name, value in sums.items():
        if name.startswith(prefix):
            added[name.removeprefix(prefix)] = value
        elif not name.startswith(_PART):
            shared[name] = value
    return shared, added
