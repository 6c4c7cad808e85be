"""Notes of the monitor's own work: what is in them, and what is never noted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from opentelemetry import trace as otel_trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rag_monitor import semconv
from rag_monitor.config import Settings, load_settings
from rag_monitor.domain.ports import BlobFormat, IngestBatch, WriteOutcome
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.errors import ConfigurationError, StoreUnavailable
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.exposition.own_spans import build_self_tracing, encode_own
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.envelope import split_request
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.sampling.options import SamplingOptions
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.self_tracing import INGEST, JUDGE, SelfTracing
from rag_monitor.testing import EPOCH, ManualClock, ScriptedJudge, make_task, make_trace

PROTOBUF = "application/x-protobuf"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def own(exporter: InMemorySpanExporter) -> Iterator[SelfTracing]:
    made = SelfTracing(exporter, version="1.2.3", ingest_rate=0.5, draw=lambda: 0.4)
    yield made
    made.close()


class Sink:
    """Stores nothing, or cannot."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def write(self, batch: IngestBatch) -> WriteOutcome:
        if self._error is not None:
            raise self._error
        return WriteOutcome(new=len(batch.blobs))


def body(*scopes: str) -> bytes:
    """A request with one span of each scope."""
    spans = [
        ScopeSpans(
            scope=InstrumentationScope(name=scope),
            spans=[Span(trace_id=bytes([n + 1] * 16), span_id=bytes([n + 1] * 8))],
        )
        for n, scope in enumerate(scopes)
    ]
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=spans)])
    return request.SerializeToString()


def receive(own: SelfTracing, content: bytes, error: Exception | None = None) -> int:
    receiver = Receiver(Sink(error), own=own)
    reply = asyncio.run(receiver.receive_traces(content, PROTOBUF, None, "default"))
    return reply.status


def test_a_note_is_a_root_span_of_ours_with_figures_and_no_text(
    own: SelfTracing, exporter: InMemorySpanExporter
) -> None:
    own.record(JUDGE, 5, {"traces": 3}, ValueError("the user's question"))
    own.close()

    (span,) = exporter.get_finished_spans()
    assert (span.name, span.parent, span.start_time) == (JUDGE, None, 5)
    assert dict(span.attributes or {}) == {
        semconv.COMPLETE: True,
        "rag_monitor.traces": 3,
        semconv.ERROR_TYPE: "ValueError",
    }
    assert dict(span.resource.attributes) == {
        semconv.SERVICE_NAME: "rag-monitor",
        semconv.SERVICE_VERSION: "1.2.3",
    }
    assert "question" not in span.to_json()
    assert isinstance(otel_trace.get_tracer_provider(), otel_trace.ProxyTracerProvider)


def test_what_was_noted_comes_back_as_a_trace_of_its_own_kind(
    own: SelfTracing, exporter: InMemorySpanExporter
) -> None:
    began = own.begin()
    own.record(JUDGE, began, {"traces": 3, "judge": "packed"}, ValueError("x"))
    own.close()
    request = encode_own(exporter.get_finished_spans()).SerializeToString()

    decoded = split_request(request, 10)
    (blob,) = decoded.blobs
    trace = derive("own", [(BlobFormat.OTLP, blob.payload)], datetime.now(UTC))

    assert (decoded.own, blob.complete) == (1, True)
    assert trace is not None
    assert (trace.app, trace.question, trace.answer) == ("rag-monitor", JUDGE, None)
    assert (trace.status, trace.error, trace.release) == (TraceStatus.ERROR, "ValueError", "1.2.3")
    assert trace.attributes == {"traces": 3, "judge": "packed"}
    assert trace.timings.end_to_end_ms is not None


@pytest.mark.parametrize(
    ("scopes", "error", "noted"),
    [
        (["app"], None, 1),
        (["app", semconv.SELF_SCOPE], None, 1),
        (["app"], StoreUnavailable(), 1),
        ([semconv.SELF_SCOPE], None, 0),
        ([semconv.SELF_SCOPE], StoreUnavailable(), 0),
        ([], None, 0),
    ],
)
def test_a_request_of_own_spans_is_not_noted_whatever_becomes_of_it(
    own: SelfTracing,
    exporter: InMemorySpanExporter,
    scopes: list[str],
    error: Exception | None,
    noted: int,
) -> None:
    status = receive(own, body(*scopes), error)
    own.close()

    assert status == (200 if error is None else 503)
    assert [span.name for span in exporter.get_finished_spans()] == [INGEST] * noted


def test_what_cannot_be_read_is_not_noted_for_it_may_be_our_own(
    own: SelfTracing, exporter: InMemorySpanExporter
) -> None:
    assert receive(own, b"\xff\xff") == 400
    own.close()

    assert exporter.get_finished_spans() == ()


def test_only_a_share_of_the_requests_is_noted(exporter: InMemorySpanExporter) -> None:
    draws = iter([0.2, 0.0, 0.9, 0.05])
    own = SelfTracing(exporter, version="1", ingest_rate=0.1, draw=lambda: next(draws))

    for _ in range(4):
        receive(own, body("app"))
    own.close()

    assert len(exporter.get_finished_spans()) == 2


async def test_nobody_judges_own_work_not_even_when_asked_to(
    own: SelfTracing, exporter: InMemorySpanExporter
) -> None:
    judge = ScriptedJudge()
    pipeline = Pipeline(
        EvaluationPlan(baseline=judge), Sampler(SamplingOptions()), ManualClock(EPOCH), own
    )
    work = make_trace(INGEST, convention=semconv.SELF_SCOPE)
    question = make_trace("How long?", "A year.", ("A year.",))

    outcomes = await pipeline.evaluate(
        [
            make_task(work),
            make_task(question),
            make_task(work, forced=True, judge="scripted"),
        ]
    )
    nothing = await pipeline.evaluate([make_task(work)])
    own.close()

    assert [bool(outcome.scores) for outcome in outcomes] == [False, True, False]
    assert not any(outcome.decisions for outcome in (outcomes[0], outcomes[2], *nothing))
    assert len(judge.requests) == 1
    (span,) = exporter.get_finished_spans()
    assert (span.attributes or {})["rag_monitor.traces"] == 1


def test_it_is_off_unless_an_endpoint_is_named() -> None:
    assert build_self_tracing(Settings().own_traces) is None


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ENDPOINT", "http://127.0.0.1:8700", "allow_private"),
        ("INGEST_RATE", "1.5", "from 0 to 1"),
        ("EVERY_S", "0", "must be positive"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_the_start(
    name: str, value: str, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        load_settings(None, {f"RAG_MONITOR_OWN_TRACES_{name}": value})
