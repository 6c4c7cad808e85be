"""The Prometheus collector: renders a snapshot under the names of DESIGN section 7."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
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

from rag_monitor import telemetry
from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.errors import StoreUnavailable
from rag_monitor.exposition.snapshot import (
    LATENCIES,
    HitPoint,
    LatencyPoint,
    ScorePoint,
    Snapshot,
)
from rag_monitor.store.outage import Outage

logger = logging.getLogger(__name__)

SnapshotProvider = Callable[[], Snapshot]


class MonitorCollector(Collector):
    """Yields what the provider's snapshot holds.

    Called by the thread that serves the scrape. A provider that fails (the database is down) costs
    the values from the database, never the scrape.

    Args:
        provider: Returns the latest snapshot; quickly.
        outage: Tells in the log that the database is away, one scrape after the other.
    """

    def __init__(self, provider: SnapshotProvider, outage: Outage | None = None) -> None:
        self._provider = provider
        self._outage = outage or Outage(logger, "no values from the database")

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering the collector must not ask the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All metric families of one scrape."""
        snapshot = self._snapshot()
        up = GaugeMetricFamily("rag_monitor_store_up", "Whether the database answers this process.")
        up.add_metric((), 0.0 if snapshot is None else 1.0)
        yield up
        leads = GaugeMetricFamily(
            "rag_monitor_leads",
            "1 for the one process that looks at alert rules, sends messages and exposes values.",
        )
        leads.add_metric((), float(snapshot is not None and snapshot.leads))
        yield leads
        if snapshot is not None:
            yield from _scores(snapshot)
            yield from _latencies(snapshot)
            yield from _hits(snapshot)
            yield from _counts(snapshot)

    def _snapshot(self) -> Snapshot | None:
        try:
            snapshot = self._provider()
        except StoreUnavailable as error:
            telemetry.dropped("exposition", "snapshot_failed")
            self._outage.hit(error)
            return None
        # Whatever fails behind the provider, a scrape must be answered.
        except Exception:
            telemetry.dropped("exposition", "snapshot_failed")
            logger.warning("no values from the database for this scrape", exc_info=True)
            return None
        self._outage.passed()
        return snapshot


def render(collector: MonitorCollector, open_metrics: bool = False) -> tuple[bytes, str]:
    """The whole `/metrics` page and its content type: our own counters, then the snapshot.

    Args:
        collector: Knows the snapshot.
        open_metrics: In OpenMetrics, which alone carries exemplars.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    # The snapshot first: what it drops is counted on the same page.
    if open_metrics:
        values, ours = _open_metrics(registry), _open_metrics(telemetry.REGISTRY)
        return ours.removesuffix(_END) + values, openmetrics.CONTENT_TYPE_LATEST
    values = generate_latest(registry)
    return generate_latest(telemetry.REGISTRY) + values, CONTENT_TYPE_LATEST


def _open_metrics(registry: CollectorRegistry) -> bytes:
    text: bytes = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]
    return text


_END = b"# EOF\n"


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
    points: Iterable[tuple[Sequence[str], float | None, ScorePoint | HitPoint]],
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
    yield from (traces, alerts)
