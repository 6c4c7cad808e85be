"""Snapshots as metric families, under the names of the documentation's page on metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.exposition.points import (
    FaultPoint,
    HitPoint,
    LatencyPoint,
    ScorePoint,
    SessionPoint,
)
from rag_monitor.exposition.snapshot import LATENCIES, Snapshot

_Estimated = ScorePoint | FaultPoint | SessionPoint | HitPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a process says of itself on every scrape."""

    store_up: bool
    """Whether the database answers."""
    leads: bool = False
    age_s: float | None = None
    """Of the values from the database; None: there are none."""
    apps_folded: int = 0


def state_families(state: State) -> Iterator[Metric]:
    """Four gauges at most."""
    yield _gauge(
        "rag_monitor_store_up",
        "Whether the database answers this process.",
        float(state.store_up),
    )
    yield _gauge(
        "rag_monitor_leads",
        "1 for the one process that looks at alert rules, sends messages and exposes values.",
        float(state.leads),
    )
    yield _gauge(
        "rag_monitor_snapshot_age_seconds",
        "Age of the values from the database on this page.",
        state.age_s,
    )
    yield _gauge(
        "rag_monitor_apps_folded",
        "Apps without series of their own, because others have more traffic.",
        float(state.apps_folded) if state.age_s is not None else None,
    )


def value_families(snapshot: Snapshot) -> Iterator[Metric]:
    """What comes from the database; always the same families in the same order."""
    yield from _scores(snapshot)
    yield from _faults(snapshot)
    yield from _sessions(snapshot)
    yield from _latencies(snapshot)
    yield from _hits(snapshot)
    yield from _counts(snapshot)


def text_of(families: Callable[[], Iterable[Metric]], *, open_metrics: bool) -> bytes:
    """Families as text; in OpenMetrics, which alone carries exemplars, without its last line."""
    registry = CollectorRegistry()
    registry.register(_Families(families))
    return text_of_registry(registry, open_metrics=open_metrics)


def text_of_registry(registry: CollectorRegistry, *, open_metrics: bool) -> bytes:
    """The same of everything in a registry."""
    if not open_metrics:
        return generate_latest(registry)
    text: bytes = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]
    return text.removesuffix(END)


def content_type(*, open_metrics: bool) -> str:
    """Of such a text."""
    return openmetrics.CONTENT_TYPE_LATEST if open_metrics else CONTENT_TYPE_LATEST


END = b"# EOF\n"
"""The last line of OpenMetrics."""


class _Families(Collector):
    """Yields what a function makes."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering asks for nothing."""
        return iter(())

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._families()


def _gauge(name: str, documentation: str, value: float | None) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, documentation)
    if value is not None:
        family.add_metric((), value)
    return family


def _scores(snapshot: Snapshot) -> Iterator[Metric]:
    yield from _with_interval(
        "rag_monitor_score",
        "Estimate of a metric over the last hour.",
        "Scored traces behind the estimate.",
        ("app", "release", "metric", "judge"),
        (
            ((point.app, point.release, point.metric, point.judge), point.value, point)
            for point in snapshot.scores
            if point.release is not None
        ),
    )
    yield from _with_interval(
        "rag_monitor_app_score",
        "Estimate of a metric over the last hour, of all releases together.",
        "Scored traces behind the estimate.",
        ("app", "metric", "judge"),
        (
            ((point.app, point.metric, point.judge), point.value, point)
            for point in snapshot.scores
            if point.release is None
        ),
    )


def _faults(snapshot: Snapshot) -> Iterator[Metric]:
    yield from _with_interval(
        "rag_monitor_fault_ratio",
        "Share of traces with a fault over the last hour.",
        "Judged traces behind the share.",
        ("app", "release", "fault"),
        (
            ((point.app, point.release, point.fault), point.ratio, point)
            for point in snapshot.faults
            if point.release is not None
        ),
    )
    yield from _with_interval(
        "rag_monitor_app_fault_ratio",
        "Share of traces with a fault over the last hour, of all releases together.",
        "Judged traces behind the share.",
        ("app", "fault"),
        (
            ((point.app, point.fault), point.ratio, point)
            for point in snapshot.faults
            if point.release is None
        ),
    )


def _sessions(snapshot: Snapshot) -> Iterator[Metric]:
    yield from _with_interval(
        "rag_monitor_session_estimate",
        "Mean over the sessions that ended in the last hour, by the release of their last turn.",
        "Sessions behind the mean.",
        ("app", "release", "metric"),
        (
            ((point.app, point.release, point.metric), point.value, point)
            for point in snapshot.sessions
            if point.release is not None
        ),
    )
    yield from _with_interval(
        "rag_monitor_session_app_estimate",
        "Mean over the sessions that ended in the last hour, of all releases together.",
        "Sessions behind the mean.",
        ("app", "metric"),
        (
            ((point.app, point.metric), point.value, point)
            for point in snapshot.sessions
            if point.release is None
        ),
    )


def _hits(snapshot: Snapshot) -> Iterator[Metric]:
    return _with_interval(
        "rag_monitor_hit_ratio",
        "Traces with a successful, non-empty hit over all traces, or over those expecting it.",
        "Traces the ratio is over.",
        ("app", "kind", "name", "basis"),
        (((hit.app, hit.kind, hit.name, hit.basis), hit.ratio, hit) for hit in snapshot.hits),
    )


def _with_interval(
    name: str,
    help_of_value: str,
    help_of_samples: str,
    labels: Sequence[str],
    points: Iterable[tuple[Sequence[str], float | None, _Estimated]],
) -> Iterator[Metric]:
    """An estimate as four families: itself, the ends of its interval, and what it is made of."""
    value = GaugeMetricFamily(name, help_of_value, labels=labels)
    ends = "end of the estimate's 95% interval."
    lower = GaugeMetricFamily(f"{name}_lower", f"Lower {ends}", labels=labels)
    upper = GaugeMetricFamily(f"{name}_upper", f"Upper {ends}", labels=labels)
    samples = GaugeMetricFamily(f"{name}_samples", help_of_samples, labels=labels)
    for named, estimate, point in points:
        for family, number in (
            (value, estimate),
            (lower, point.lower),
            (upper, point.upper),
            (samples, float(point.samples)),
        ):
            if number is not None:
                family.add_metric(named, number)
    yield from (value, lower, upper, samples)


def _latencies(snapshot: Snapshot) -> Iterator[Metric]:
    for metric, name in LATENCIES.items():
        family = HistogramMetricFamily(
            name,
            f"{_WORDS[metric]} of the traces of the last hour; a window, so without rate().",
            labels=("app", "release"),
        )
        for point in snapshot.latencies:
            if point.name == name:
                family.add_metric((point.app, point.release), _buckets(point), point.sum_s)
        yield family


def _buckets(point: LatencyPoint) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    counts = map(float, accumulate(point.counts))
    examples = point.examples or (None,) * len(_BOUNDS)
    return [
        (bound, count)
        if example is None
        else (
            bound,
            count,
            Exemplar({"trace_id": example.trace_id}, example.seconds, example.at.timestamp()),
        )
        for bound, count, example in zip(_BOUNDS, counts, examples, strict=True)
    ]


_BOUNDS = (*(str(bound) for bound in LATENCY_BUCKETS_S), "+Inf")
_WORDS = {
    "first_byte_ms": "Question received to first byte",
    "generation_ms": "Retrieval finished to answer complete",
    "end_to_end_ms": "Question received to answer complete",
}


def _counts(snapshot: Snapshot) -> Iterator[Metric]:
    traces = CounterMetricFamily(
        "rag_monitor_traces", "Traces by how the request ended.", labels=("app", "status")
    )
    for point in snapshot.traces:
        traces.add_metric((point.app, point.status), float(point.count))
    alerts = GaugeMetricFamily(
        "rag_monitor_alerts",
        "1 for the present state of every alert that is not inactive.",
        labels=("app", "rule", "state"),
    )
    for alert in snapshot.alerts:
        alerts.add_metric((alert.app, alert.rule, alert.state), 1.0)
    states = GaugeMetricFamily(
        "rag_monitor_rule_state",
        "1 for what a rule says of an app: ok, pending, firing, cannot_tell or idle.",
        labels=("app", "rule", "state"),
    )
    for state in snapshot.rule_states:
        states.add_metric((state.app, state.rule, state.state), 1.0)
    yield from (traces, alerts, states)
