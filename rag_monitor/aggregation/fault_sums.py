"""The sums that shares of faults are estimated from: those of scores, kept in one row.

The probability that a judge gives a fault is its prediction of 1 or 0, what a person says of the
fault is the label, and the rest is as for any score: weights, a proxy, the correction by people.
The share of each fault is a metric of its own (`domain.fault.FAULT_METRICS`).

Fourteen rows a minute would hold the same counts and weights fourteen times. So one row holds the
sums as if every probability and every label were 0, and, in further moments and sums per bucket of
clusters, what each fault adds to them: nothing, where no judge thinks it possible and nobody
labelled it. All of it adds up field by field, as any rollup does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeVar

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.label_eligibility import corrects_judge
from rag_monitor.aggregation.score_sums import (
    Table,
    Terms,
    add_scores,
    label_terms,
    outside_terms,
    pair_terms,
    proxies_of,
    proxy_label_terms,
)
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.fault import FAULT_METRIC, FAULT_METRICS, Fault
from rag_monitor.domain.rollup import CLUSTER_BUCKETS, Rollup, TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus

T = TypeVar("T")

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


def add_faults(table: Table, facts: TraceFacts, bucket: int | None) -> None:
    """Add what judges and people say of a trace's faults; nothing where nobody diagnosed it.

    A judge that failed on the trace has failed on its faults; a trace that it could say nothing
    of, or whose text tried to influence it, counts as for any score.

    Args:
        table: Makes rows that are missing.
        facts: The trace.
        bucket: Of its cluster; None: buckets are not kept.
    """
    if not facts.faults:
        return
    labels = {
        fault: label
        for metric, label in facts.labels.items()
        if (fault := FAULT_METRICS.get(metric)) is not None
    }
    base = replace(facts, scores=_of_no_fault(facts), labels={FAULT_METRIC: 0.0} if labels else {})
    add_scores(table, base, bucket)
    for score in base.scores:
        judge = str(score.judge)
        name = "" if score.judge is None else score.judge.name
        adder = _Adder(
            table[FAULT_METRIC, judge, ""], bucket, 1.0 / facts.probabilities.get(name, 1.0)
        )
        proxies = {
            (proxy := str(other.judge)): facts.faults.get(proxy, {})
            for other in proxies_of(score, base.scores)
        }
        if score.status is ScoreStatus.SCORED:
            corrects = bool(labels) and corrects_judge(score, facts.probabilities)
            adder.add_scored(facts.faults[judge], proxies, labels if corrects else None)
        elif score.status is not ScoreStatus.FAILED:
            adder.add_outside(proxies)


def _of_no_fault(facts: TraceFacts) -> tuple[Score, ...]:
    """A score of 0 by each judge that diagnosed the trace; of others, why they did not."""
    by_judge: dict[str, list[Score]] = {}
    for score in facts.scores:
        if score.judge is not None:
            by_judge.setdefault(str(score.judge), []).append(score)
    scores: list[Score] = []
    for judge, own in by_judge.items():
        status = ScoreStatus.SCORED if judge in facts.faults else _status(own)
        scored = status is ScoreStatus.SCORED
        scores.append(
            Score(
                metric=FAULT_METRIC,
                status=status,
                value=0.0 if scored else None,
                reason=None if scored else _reason(own, status),
                judge=own[0].judge,
            )
        )
    return tuple(scores)


def _status(scores: Sequence[Score]) -> ScoreStatus:
    """Of the faults, where a judge gave no diagnosis."""
    statuses = {score.status for score in scores}
    for status in (ScoreStatus.FAILED, ScoreStatus.SUSPECT):
        if status in statuses:
            return status
    return ScoreStatus.NOT_APPLICABLE


def _reason(scores: Sequence[Score], status: ScoreStatus) -> str | None:
    return next((score.reason for score in scores if score.status is status), None)


_Probabilities = Mapping[Fault, float]


class _Adder:
    """Adds what one judge says of the faults of one trace to the row of all faults."""

    def __init__(self, row: Totals, bucket: int | None, weight: float) -> None:
        self._row = row
        self._bucket = bucket
        self._weight = weight

    def add_scored(
        self,
        own: _Probabilities,
        proxies: Mapping[str, _Probabilities],
        labels: Mapping[Fault, float] | None,
    ) -> None:
        """Add a diagnosis.

        Args:
            own: The judge's probabilities.
            proxies: Those of each proxy beside it.
            labels: Of people, where they correct the judge.
        """
        for fault, value in own.items():
            self._add_value(fault, value)
        for proxy, others in proxies.items():
            for fault in own.keys() | others.keys():
                self._add_pair(fault, own.get(fault, 0.0), proxy, others.get(fault, 0.0))
        if labels is None:
            return
        for fault, label in labels.items():
            value = own.get(fault, 0.0)
            beside = {proxy: others.get(fault, 0.0) for proxy, others in proxies.items()}
            self._add_label(fault, value, label - value, beside)

    def add_outside(self, proxies: Mapping[str, _Probabilities]) -> None:
        """Add a draw that is outside the metric, by what the proxies say of it."""
        for proxy, others in proxies.items():
            for fault, f in others.items():
                self._add_terms(fault, _pairs(outside_terms(self._weight, f), proxy))
                self._add_to_bucket(fault, keys.cluster("f", proxy), self._weight * f)

    def _add_value(self, fault: Fault, value: float) -> None:
        if not value:
            return
        weight, row = self._weight, self._row
        squared = value * value
        row.add_moment(_part(fault, "total"), value)
        row.add_moment(_part(fault, "squares"), squared)
        if weight != 1.0:
            more, squared_more = weight - 1.0, weight * weight - 1.0
            row.add_moment(_part(fault, "weighted_total"), more * value)
            row.add_moment(_part(fault, "weighted_squares"), more * squared)
            row.add_moment(_part(fault, keys.W2_TOTAL), squared_more * value)
            row.add_moment(_part(fault, keys.W2_SQUARES), squared_more * squared)
        self._add_to_bucket(fault, "y", weight * value)

    def _add_pair(self, fault: Fault, value: float, proxy: str, f: float) -> None:
        self._add_terms(fault, _pairs(pair_terms(self._weight, value, f), proxy))
        self._add_to_bucket(fault, keys.cluster("f", proxy), self._weight * f)

    def _add_label(
        self, fault: Fault, value: float, d: float, proxies: Mapping[str, float]
    ) -> None:
        r = self._weight
        self._add_terms(fault, _labels(label_terms(r, value, d)))
        for proxy, f in proxies.items():
            self._add_terms(fault, _labels(proxy_label_terms(r, f, d), proxy))
        self._add_to_bucket(fault, "d", r * d)

    def _add_terms(self, fault: Fault, terms: Terms) -> None:
        for name, value in terms:
            if value:
                self._row.add_moment(_part(fault, name), value)

    def _add_to_bucket(self, fault: Fault, name: str, value: float) -> None:
        if self._bucket is not None and value:
            self._row.add_to_bucket(_part(fault, name), self._bucket, value)


def _pairs(terms: Terms, proxy: str) -> Terms:
    return [(keys.pair(name, proxy), value) for name, value in terms]


def _labels(terms: Terms, proxy: str = "") -> Terms:
    return [(keys.label(name, proxy), value) for name, value in terms]


def clear_histograms(table: Table) -> None:
    """Take the histograms of faults out: all that they count is the 0 of the sums they share."""
    for (metric, _, _), sums in table.items():
        if keys.is_of_faults(metric):
            sums.histogram = []


@lru_cache(maxsize=4096)
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
