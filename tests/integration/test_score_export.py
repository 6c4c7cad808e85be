"""The export job over a real store: in order, at least once, never twice while all goes well."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from sqlalchemy import event

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.exposition.options import ExportOptions
from rag_monitor.ingest.envelope import split_request
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock, make_trace
from rag_monitor.worker.exporting import Roots, ScoreExport
from tests.contract.evidence import claim, ingest, write
from tests.log_sink import LogSink


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=database_url, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        opened.writer.start()
        yield opened


@pytest.fixture
def sink() -> Iterator[LogSink]:
    with LogSink() as listening:
        yield listening


def _export(store: Store, clock: ManualClock, sink: LogSink, batch: int = 500) -> ScoreExport:
    options = ExportOptions(endpoint=sink.url, allow_private=True, settle_s=10, batch=batch)
    return ScoreExport(store.score_export_feed, Roots(store.spans), clock, options)


def _send(export: ScoreExport) -> int:
    return asyncio.run(export.send_due())


def _score(store: Store, clock: ManualClock, trace_id: str, *metrics: str) -> None:
    """Take a trace in and judge it; all its scores are made now."""
    ingest(store, make_trace(id=trace_id), at=clock.now())
    (task,) = claim(store, at=clock.now())
    scores = [
        Score(metric=metric, status=ScoreStatus.SCORED, value=0.5, created_at=clock.now())
        for metric in metrics
    ]
    store.tasks.complete(task, scores)


def _request(trace_id: str, root: str, link: str) -> bytes:
    """A trace of a root and its child, the child first."""
    ids = [(b"c" * 8, bytes.fromhex(root), 2), (bytes.fromhex(root), b"", 1)]
    spans = [
        Span(
            trace_id=bytes.fromhex(trace_id),
            span_id=span_id,
            parent_span_id=parent,
            start_time_unix_nano=start,
            end_time_unix_nano=9,
        )
        for span_id, parent, start in ids
    ]
    if link:
        spans[1].links.add(trace_id=spans[1].trace_id, span_id=bytes.fromhex(link))
    resource = ResourceSpans(scope_spans=[ScopeSpans(spans=spans)])
    return ExportTraceServiceRequest(resource_spans=[resource]).SerializeToString()


def _ids(sink: LogSink) -> list[str]:
    return [event.trace_id.hex()[:1] for event in sink.events]


def test_scores_are_sent_once_after_they_settled(
    store: Store, clock: ManualClock, sink: LogSink
) -> None:
    export = _export(store, clock, sink)
    _send(export)
    clock.advance(1)
    _score(store, clock, "a" * 32, "faithfulness", "context_precision")

    assert _send(export) == 0
    clock.advance(11)
    assert _send(export) == 2
    assert _send(export) == 0
    assert _ids(sink) == ["a", "a"]


def test_history_before_the_first_run_stays_here(
    store: Store, clock: ManualClock, sink: LogSink
) -> None:
    _score(store, clock, "a" * 32, "faithfulness")
    clock.advance(60)
    export = _export(store, clock, sink)

    _send(export)
    clock.advance(60)

    assert _send(export) == 0
    assert sink.events == []


def test_a_receiver_that_was_away_gets_everything_when_it_is_back(
    store: Store, clock: ManualClock, sink: LogSink
) -> None:
    export = _export(store, clock, sink)
    _send(export)
    clock.advance(1)
    sink.status = 503
    _score(store, clock, "a" * 32, "faithfulness")
    clock.advance(60)
    assert _send(export) == 0
    _score(store, clock, "b" * 32, "faithfulness")
    clock.advance(60)

    sink.status = 200
    assert _send(export) == 2
    assert _ids(sink) == ["a", "b"]


@pytest.mark.parametrize("ahead", [timedelta(days=2), timedelta(minutes=20)])
def test_a_mark_that_a_wrong_clock_moved_ahead_holds_nothing_back(
    store: Store, clock: ManualClock, sink: LogSink, ahead: timedelta
) -> None:
    export = _export(store, clock, sink)
    _send(export)
    right = clock.now()
    clock.set(right + ahead)
    _score(store, clock, "a" * 32, "faithfulness")
    clock.advance(60)
    assert _send(export) == 1

    clock.set(right + timedelta(seconds=60))
    _send(export)
    _score(store, clock, "b" * 32, "faithfulness")
    clock.advance(60)
    assert _send(export) == 1
    assert _ids(sink) == ["a", "b"]


def test_another_process_goes_on_where_the_first_stopped(
    store: Store, clock: ManualClock, sink: LogSink
) -> None:
    first = _export(store, clock, sink)
    _send(first)
    clock.advance(1)
    _score(store, clock, "a" * 32, "faithfulness")
    clock.advance(60)
    _send(first)
    _score(store, clock, "b" * 32, "faithfulness")
    clock.advance(60)

    assert _send(_export(store, clock, sink)) == 1
    assert _ids(sink) == ["a", "b"]


def test_a_batch_never_tears_scores_of_one_moment_apart(
    store: Store, clock: ManualClock, sink: LogSink
) -> None:
    export = _export(store, clock, sink, batch=1)
    _send(export)
    clock.advance(1)
    _score(store, clock, "a" * 32, "faithfulness", "context_precision", "answer_relevance")
    clock.advance(1)
    _score(store, clock, "b" * 32, "faithfulness")
    clock.advance(60)

    assert [_send(export) for _ in range(3)] == [3, 1, 0]
    assert _ids(sink) == ["a", "a", "a", "b"]


def test_events_the_receiver_cannot_read_do_not_block_later_ones(
    store: Store, clock: ManualClock, sink: LogSink
) -> None:
    export = _export(store, clock, sink)
    _send(export)
    clock.advance(1)
    _score(store, clock, "a" * 32, "faithfulness")
    clock.advance(60)
    sink.status = 400
    _send(export)
    sink.status = 200
    _score(store, clock, "b" * 32, "faithfulness")
    clock.advance(60)

    assert _send(export) == 1
    assert _ids(sink) == ["b"]


def test_the_roots_of_many_traces_are_read_together(
    store: Store, clock: ManualClock, sink: LogSink
) -> None:
    ids = [f"{number:032x}" for number in range(1, 61)]
    scores = []
    for number, trace_id in enumerate(ids):
        root = f"{number + 1:016x}"
        write(store, *split_request(_request(trace_id, root, ""), 10).blobs, at=clock.now())
        score = Score(metric="faithfulness", status=ScoreStatus.SCORED, value=0.5)
        scores.append(PlacedScore(project="default", trace_id=trace_id, app="a", score=score))
    asked: list[str] = []

    @event.listens_for(store._database._reader, "before_cursor_execute")
    def count(connection: object, cursor: object, statement: str, *_: object) -> None:
        del connection, cursor
        asked.append(statement.split()[0])

    found = Roots(store.spans).of(scores)

    assert found == {("default", id): f"{n + 1:016x}" for n, id in enumerate(ids)}
    assert asked.count("SELECT") == 4, "two for each fifty traces"


@pytest.mark.parametrize(("link", "parent"), [("", "b" * 16), ("d" * 16, "d" * 16)])
def test_as_spans_scores_hang_below_the_root_or_the_hosts_span_it_links_to(
    store: Store, clock: ManualClock, sink: LogSink, link: str, parent: str
) -> None:
    options = ExportOptions(endpoint=sink.url, allow_private=True, settle_s=0, form="spans")
    export = ScoreExport(store.score_export_feed, Roots(store.spans), clock, options)
    _send(export)
    clock.advance(1)
    _score(store, clock, "a" * 32, "faithfulness")
    write(store, *split_request(_request("a" * 32, "b" * 16, link), 10).blobs, at=clock.now())
    clock.advance(1)

    assert _send(export) == 1
    (resource,) = ExportTraceServiceRequest.FromString(sink.bodies[0]).resource_spans
    (span,) = resource.scope_spans[0].spans
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == ("a" * 32, parent)
