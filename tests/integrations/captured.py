"""The monitor's view of what an integration sent, and what must be in it."""

from __future__ import annotations

from datetime import UTC, datetime

from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, TracesData

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.trace import Trace
from rag_monitor.ingest.derive import derive
from rag_monitor.testing import InMemoryExporter

QUESTION = "How long is the warranty?"
ANSWER = "The warranty lasts 24 months."
PASSAGES = {
    "doc-7": "The standard warranty lasts 24 months.",
    "doc-3": "Batteries are covered for 12 months.",
}


class Captured(InMemoryExporter):
    """Derives domain traces from the captured spans, as the monitor would."""

    @property
    def traces(self) -> list[Trace]:
        """Every finished trace so far, in order."""
        return [trace for span in self.spans if (trace := _derive(span)) is not None]

    @property
    def trace(self) -> Trace:
        """The only trace; fails when there are none or several."""
        (trace,) = self.traces
        return trace


def _derive(span: object) -> Trace | None:
    data = TracesData(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=[span])])])
    return derive("default", [(BlobFormat.OTLP, data.SerializeToString())], datetime.now(UTC))


def check_story(trace: Trace, *, streamed: bool, model: str | None = None) -> None:
    """The question, the passages in order, the answer and the three timings are all there."""
    assert trace.question == QUESTION
    assert trace.answer == ANSWER
    assert trace.status == "ok"
    assert trace.streamed is streamed
    assert trace.contexts is not None
    assert [(d.id, d.content) for d in trace.contexts] == list(PASSAGES.items())
    assert [d.rank for d in trace.contexts] == [1, 2]
    timings = trace.timings
    assert timings.first_byte_ms is not None
    assert timings.generation_ms is not None
    assert timings.end_to_end_ms is not None
    assert 0 < timings.first_byte_ms <= timings.end_to_end_ms
    assert 0 <= timings.generation_ms <= timings.end_to_end_ms
    if model is not None:
        assert trace.model == model


def hits(trace: Trace) -> list[tuple[str, str, bool]]:
    """Kind, name and success of every hit, in order."""
    return [(HitKind(hit.kind).value, hit.name, hit.ok) for hit in trace.hits]
