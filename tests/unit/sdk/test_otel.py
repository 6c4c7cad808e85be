"""Beside OpenTelemetry: ids, traceparent, the host's provider left alone or shared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest
from opentelemetry import trace as otel
from opentelemetry.context import attach, detach, get_value, set_value
from opentelemetry.propagate import inject
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter


def provider_of(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, **settings)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    return exporter


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """A host with its own tracing."""
    return provider_of(monkeypatch)


def test_without_a_provider_outgoing_calls_carry_our_ids(captured: InMemoryExporter) -> None:
    carrier: dict[str, str] = {}

    @rm.trace
    def answer(question: str) -> str:
        inject(carrier)
        return rm.current().trace_id

    trace_id = answer("q")

    (span,) = captured.spans
    assert carrier["traceparent"] == f"00-{trace_id}-{span.span_id.hex()}-01"
    assert not otel.get_current_span().get_span_context().is_valid


def test_the_current_span_is_ours_to_whoever_asks(captured: InMemoryExporter) -> None:
    held = attach(set_value("tenant", "red"))
    try:
        with rm.trace() as live:
            span = otel.get_current_span()
            said, tenant = repr(span), get_value("tenant")
    finally:
        detach(held)

    context = span.get_span_context()
    assert f"{context.trace_id:032x}" == live.trace_id
    assert context.span_id == int.from_bytes(captured.spans[0].span_id)
    assert (context.is_valid, context.is_remote, context.trace_flags.sampled) == (True, False, True)
    assert not span.is_recording()
    assert live.trace_id in said
    assert tenant == "red"


def test_a_hosts_trace_id_is_reused_with_a_link_and_its_spans_keep_their_parents(
    host: InMemorySpanExporter, captured: InMemoryExporter
) -> None:
    tracer = otel.get_tracer_provider().get_tracer("host")
    with (
        tracer.start_as_current_span("request") as request,
        rm.trace() as live,
        tracer.start_as_current_span("db"),
    ):
        pass
    context = request.get_span_context()

    (span,) = captured.spans
    assert live.trace_id == f"{context.trace_id:032x}" == span.trace_id.hex()
    assert span.links[0].span_id.hex() == f"{context.span_id:016x}"
    database = host.get_finished_spans()[0]
    assert database.parent is not None
    assert database.parent.span_id == context.span_id
    assert len(host.get_finished_spans()) == 2


def test_an_unsampled_host_trace_is_recorded_all_the_same(
    monkeypatch: pytest.MonkeyPatch, captured: InMemoryExporter
) -> None:
    provider_of(monkeypatch, sampler=ALWAYS_OFF)
    tracer = otel.get_tracer_provider().get_tracer("host")
    with tracer.start_as_current_span("request") as request, rm.trace():
        pass

    assert captured.records[0]["trace_id"] == f"{request.get_span_context().trace_id:032x}"


def test_two_answers_in_one_host_trace_stay_two_traces(
    host: InMemorySpanExporter, captured: InMemoryExporter
) -> None:
    with otel.get_tracer_provider().get_tracer("host").start_as_current_span("batch"):
        for question in ("1", "2"):
            with rm.trace(question=question):
                pass

    first, second = captured.spans
    assert first.trace_id != second.trace_id
    assert first.links[0].trace_id == second.links[0].trace_id


def test_shared_spans_go_through_the_hosts_provider(host: InMemorySpanExporter) -> None:
    with InMemoryExporter(provider="share") as captured:
        tracer = otel.get_tracer_provider().get_tracer("host")

        @rm.trace
        def answer(question: str) -> str:
            with rm.retrieval("kb") as found, tracer.start_as_current_span("vector db"):
                found.documents = [{"id": "d", "content": "c"}]
            with rm.generation("m") as step:
                step.usage(3, 4)
            return "a"

        answer("q")
        assert captured.records == []
        assert captured.client.stats()["delivered"] == 1

    spans = {span.name: span for span in host.get_finished_spans()}
    assert set(spans) == {"invoke_workflow answer", "retrieval kb", "chat m", "vector db"}
    root, found = spans["invoke_workflow answer"], spans["retrieval kb"]
    assert found.parent is not None
    assert found.parent.span_id == root.context.span_id
    inner = spans["vector db"].parent
    assert inner is not None
    assert inner.span_id == found.context.span_id
    assert root.attributes is not None
    assert json.loads(str(root.attributes["rag_monitor.record"]))["answer"] == "a"
    assert found.attributes is not None
    assert json.loads(str(found.attributes["gen_ai.retrieval.documents"]))[0]["id"] == "d"
    assert root.end_time is not None
    assert found.end_time is not None
    assert root.end_time >= found.end_time


def test_steps_are_sent_as_children_on_request() -> None:
    with InMemoryExporter(steps=True) as captured:
        with rm.trace(question="q") as live:
            live.set(session_id="s")
            with rm.retrieval("kb") as found:
                found.documents = []
            with rm.plugin("calc"):
                pass

        root, retrieval, tool = captured.spans
        assert (retrieval.name, tool.name) == ("retrieval kb", "execute_tool calc")
        assert retrieval.parent_span_id == tool.parent_span_id == root.span_id
        values = {a.key: a.value.string_value for a in retrieval.attributes}
        assert values["gen_ai.retrieval.documents"] == "[]"
        assert values["session.id"] == "s"


def test_shared_spans_of_later_pieces_stand_below_the_trace(host: InMemorySpanExporter) -> None:
    with InMemoryExporter(provider="share") as captured:

        def answering() -> Iterator[str]:
            with rm.trace("chat", question="q"), rm.retrieval("first"):
                yield "one"
                with rm.plugin("second"):
                    pass

        stream = answering()
        for _ in range(2):
            copy_context().run(next, stream, None)
        captured.client.flush(5)

    spans = {span.name: span for span in host.get_finished_spans()}
    root = spans["invoke_workflow chat"]
    for name, span in spans.items():
        if name != "invoke_workflow chat":
            assert span.parent is not None
            assert span.parent.span_id == root.context.span_id, name
