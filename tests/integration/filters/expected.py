"""What answers should say, found by looking at every trace one by one."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.metrics.routing import confusions
from tests.integration.filters.history import METRICS, Known

LATENCIES = ("first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms")


def chosen(
    known: Iterable[Known],
    *,
    app: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    release: str | None = None,
    knowledge_base: str | None = None,
) -> list[Known]:
    """Those that fit every filter."""
    return [
        one
        for one in known
        if app in {None, one.trace.app}
        and (start is None or one.trace.started_at >= start)
        and (end is None or one.trace.started_at < end)
        and release in {None, one.trace.release}
        and (knowledge_base is None or knowledge_base in bases_of(one))
    ]


def bases_of(one: Known) -> set[str]:
    """The knowledge bases that gave it passages."""
    hits = one.trace.hits
    return {hit.name for hit in hits if hit.kind is HitKind.KNOWLEDGE_BASE and hit.counts}


def figures(metric: str, among: Sequence[Known], judge: str = "combined") -> dict[str, Any]:
    """The numbers of a metric; `combined` is the judge with the most scores."""
    by_judge: dict[str, list[Score]] = defaultdict(list)
    for one in among:
        for score in one.scores:
            if score.metric == metric:
                by_judge[str(score.judge)].append(score)
    if judge == "combined":
        counts = {name: len(_scored(found)) for name, found in by_judge.items()}
        able = {name: count for name, count in counts.items() if count} or counts
        judge = max(able, key=lambda name: (able[name], name), default="")
    found = by_judge.get(judge, [])
    values = _scored(found)
    states = Counter(score.status for score in found)
    return {
        "value": sum(values) / len(values) if values else None,
        "traces": len(among),
        "judged": len(values),
        "failed": states[ScoreStatus.FAILED],
        "suspect": states[ScoreStatus.SUSPECT],
        "rests_on": judge if values else None,
    }


def faults(among: Sequence[Known]) -> dict[str, Any]:
    """The numbers of every fault; empty: nobody diagnosed anything."""
    found = {fault.value: of_fault(fault, among) for fault in Fault}
    told = any(f["judged"] or f["failed"] or f["suspect"] for f in found.values())
    return found if told else {}


def of_fault(fault: Fault, among: Sequence[Known], judge: str = "combined") -> dict[str, Any]:
    """The numbers of a fault: each judge's probabilities are its scores."""
    diagnosed = (one for one in among if one.diagnosis is not None)
    shares = [replace(one, scores=_as_scores(one, fault)) for one in diagnosed]
    return figures(fault.value, shares, judge) | {"traces": len(among)}


def _as_scores(one: Known, fault: Fault) -> list[Score]:
    by_judge = {str(score.judge): score for score in one.scores}
    scores = []
    for judge, score in by_judge.items():
        value, status = None, ScoreStatus.NOT_APPLICABLE
        if one.diagnosis is not None and judge == one.diagnosis.judge:
            value, status = one.diagnosis.probabilities.get(fault, 0.0), ScoreStatus.SCORED
        else:
            found = {other.status for other in one.scores if str(other.judge) == judge}
            for worse in (ScoreStatus.SUSPECT, ScoreStatus.FAILED):
                status = worse if worse in found else status
        scores.append(replace(score, metric=fault.value, status=status, value=value))
    return scores


def metrics(among: Sequence[Known]) -> dict[str, Any]:
    """Every metric that was scored, failed or was suspect."""
    found = {metric: figures(metric, among) for metric in METRICS}
    return {m: f for m, f in found.items() if f["judged"] or f["failed"] or f["suspect"]}


def _scored(scores: Iterable[Score]) -> list[float]:
    return [score.value for score in scores if score.value is not None]


def app_numbers(among: Sequence[Known]) -> dict[str, Any]:
    """All that the summary says of an app, of these traces."""
    return {
        "traces": dict(Counter(one.trace.status.value for one in among)),
        "judges": _judges(among),
        "metrics": metrics(among),
        "latency": {metric: _latency(metric, among) for metric in LATENCIES},
        "hit_rates": _hit_rates(among),
        "routing": {
            (row.kind.value, row.name): (row.tp, row.fp, row.tn, row.fn)
            for row in confusions([one.trace for one in among])
        },
        "knowledge_bases": {
            name: metrics(chosen(among, knowledge_base=name))
            for name in sorted({name for one in among for name in bases_of(one)})
        },
    }


def _judges(among: Sequence[Known]) -> dict[str, tuple[int, float]]:
    answered: Counter[tuple[str, str]] = Counter()
    for one in among:
        diagnosed = [] if one.diagnosis is None else _as_scores(one, Fault.NONE)
        for score in (*one.scores, *diagnosed):
            if score.status is not ScoreStatus.FAILED:
                answered[str(score.judge), score.metric] += 1
    most: dict[str, int] = {}
    for (judge, _), count in answered.items():
        most[judge] = max(count, most.get(judge, 0))
    return {judge: (count, count / len(among)) for judge, count in most.items()}


def _latency(metric: str, among: Sequence[Known]) -> dict[str, float | None]:
    values = sorted(v for one in among if (v := getattr(one.trace.timings, metric)) is not None)
    found: dict[str, float | None] = {"count": len(values)}
    found["mean"] = sum(values) / len(values) if values else None
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        found[name] = None
        if values:
            place = (len(values) - 1) * share
            low, high = values[math.floor(place)], values[math.ceil(place)]
            found[name] = low + (high - low) * (place - math.floor(place))
    return found


def _hit_rates(among: Sequence[Known]) -> dict[tuple[str, str, str], tuple[float, int]]:
    names = {(hit.kind, hit.name) for one in among for hit in one.trace.hits}
    names |= {
        (kind, name)
        for one in among
        if one.trace.expected is not None
        for kind in HitKind
        for name in one.trace.expected.names(kind) or ()
    }
    found: dict[tuple[str, str, str], tuple[float, int]] = {}
    for kind, name in names:
        expecting = [
            one
            for one in among
            if one.trace.expected is not None and name in (one.trace.expected.names(kind) or ())
        ]
        for basis, members in (("all", among), ("expected", expecting)):
            hits = sum(
                any(h.kind is kind and h.name == name and h.counts for h in one.trace.hits)
                for one in members
            )
            if members:
                found[kind.value, name, basis] = (hits / len(members), len(members))
    return found


def same(found: Any, wanted: Any, tolerance: float = 1e-9) -> bool:
    """Whether two answers agree: numbers within rounding, percentiles within their buckets."""
    if isinstance(wanted, Mapping):
        return found.keys() == wanted.keys() and all(
            same(found[k], v, 0.026 if k in {"p50", "p90", "p99"} else tolerance)
            for k, v in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(same(a, b, tolerance) for a, b in pairs)
    if isinstance(wanted, float) and isinstance(found, int | float):
        return math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance)
    return bool(found == wanted)
