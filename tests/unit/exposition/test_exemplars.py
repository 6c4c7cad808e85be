"""Exemplars: traces that stand for buckets, in OpenMetrics only."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.domain.stored import TimedTrace
from rag_monitor.exposition.collector import content_type
from rag_monitor.exposition.points import examples_of
from rag_monitor.exposition.snapshot import LatencyPoint, Snapshot
from rag_monitor.testing import EPOCH
from tests.unit.exposition.pages import text_of

NAME = "rag_monitor_end_to_end_seconds"


def listed(trace_id: str, ms: float | None, release: str | None = "v2") -> TimedTrace:
    return TimedTrace(
        trace_id=trace_id,
        app="desk",
        release=release,
        started_at=EPOCH,
        end_to_end_ms=ms,
        first_byte_ms=None,
    )


def test_the_newest_trace_of_a_bucket_stands_for_it() -> None:
    recent = [listed("new", 95.0), listed("old", 90.0), listed("slow", 10_000_000.0)]

    found = examples_of(recent, ["v2"], "other")

    row = found["end_to_end_ms", "v2"]
    assert len(row) == len(LATENCY_BUCKETS_S) + 1
    shown = {place: example.trace_id for place, example in enumerate(row) if example}
    bucket = next(n for n, bound in enumerate(LATENCY_BUCKETS_S) if bound >= 0.095)
    assert shown == {bucket: "new", len(LATENCY_BUCKETS_S): "slow"}


def test_a_value_on_a_bound_belongs_to_the_bucket_below() -> None:
    bound = LATENCY_BUCKETS_S[3]

    row = examples_of([listed("t", bound * 1000)], ["v2"], "other")["end_to_end_ms", "v2"]

    assert [place for place, example in enumerate(row) if example] == [3]


def test_releases_without_a_name_of_their_own_share_one_and_no_timing_is_no_example() -> None:
    found = examples_of([listed("a", 5.0, None), listed("b", None)], ["v2"], "other")

    assert list(found) == [("end_to_end_ms", "other")]


def test_only_openmetrics_carries_them() -> None:
    counts = (2, *[0] * len(LATENCY_BUCKETS_S))
    point = LatencyPoint(
        name=NAME, project="default", app="desk", release="v2", counts=counts, sum_s=0.01
    )
    examples = examples_of([replace(listed("ab12", 5.0), started_at=EPOCH)], ["v2"], "other")
    with_examples = replace(point, examples=examples["end_to_end_ms", "v2"])
    shown = Snapshot(latencies=(with_examples,))

    text = text_of(shown, open_metrics=True)
    plain = text_of(shown)

    families = {family.name: family for family in text_string_to_metric_families(text.decode())}
    found = [s.exemplar for s in families[NAME].samples if s.exemplar]
    assert [(e.labels, e.value) for e in found] == [({"trace_id": "ab12"}, 0.005)]
    assert found[0].timestamp.sec == EPOCH.timestamp()
    assert text.count(b"# EOF") == 1
    assert content_type(open_metrics=True).startswith("application/openmetrics-text")
    assert b"ab12" not in plain
    assert content_type(open_metrics=False).startswith("text/plain")
