"""`provider="share"`: our trace as spans of the host's own OpenTelemetry provider.

Spans are opened in the call, so that the host's spans nest below them; attributes are computed
and spans ended on the sender's thread, with the end times of the call.
"""

from __future__ import annotations

from typing import Any

from opentelemetry import trace as otel_trace
from opentelemetry.context import attach
from opentelemetry.trace import INVALID_SPAN, SpanKind, Status, StatusCode

from rag_monitor.sdk.encoding import Encoder
from rag_monitor.sdk.otel import detach_here
from rag_monitor.sdk.record import CURRENT, LiveTrace, NullTrace, TraceSink
from rag_monitor.sdk.step import Step
from rag_monitor.sdk.step_attributes import step_attributes, step_name
from rag_monitor.sdk.steps import GenerationStep, RetrievalStep


class HostSpans:
    """Emits traces through the host's provider."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def open(
        self,
        recorder: TraceSink,
        provider: Any,
        name: str,
        ended: LiveTrace | NullTrace | None = None,
    ) -> LiveTrace:
        """Start the root span in the host's trace; not below the spans of a trace that `ended`."""
        context = None
        if type(ended) is LiveTrace and _spans(ended, otel_trace.get_current_span()):
            context = otel_trace.set_span_in_context(INVALID_SPAN)
        span = provider.get_tracer("rag_monitor").start_span(
            f"invoke_workflow {name}", context, kind=SpanKind.INTERNAL
        )
        context = span.get_span_context()
        live = LiveTrace(recorder, name, context.trace_id, context.span_id)
        live.otel_span = span
        live.otel_context = otel_trace.set_span_in_context(span)
        return live

    def open_step(self, step: Step) -> None:
        """Start a span below the current one and make it current."""
        tracer = otel_trace.get_tracer_provider().get_tracer("rag_monitor")
        client = isinstance(step, RetrievalStep | GenerationStep)
        live = step.live
        fresh = live is not None and CURRENT.get() is not live  # found by its generator
        span = tracer.start_span(
            step.kind,
            live.otel_context if live is not None and fresh else None,
            kind=SpanKind.CLIENT if client else SpanKind.INTERNAL,
        )
        step.shared = (span, attach(otel_trace.set_span_in_context(span)))

    def leave_step(self, step: Step) -> None:
        """Make the span around the step current again."""
        span, token = step.shared
        step.shared = (span, None)
        detach_here(token)

    def close(self, live: LiveTrace) -> None:
        """Write the attributes and end every span of the trace at its own time."""
        encoded = self._encoder.describe(live)
        offset = live.wall_ns - live.started
        for step in live.steps:
            if step.shared is None:
                continue
            span = step.shared[0]
            span.update_name(step_name(step, encoded))
            span.set_attributes(step_attributes(step, encoded))
            if step.failed:
                span.set_status(Status(StatusCode.ERROR))
            span.end(end_time=offset + step.ended)
        root = live.otel_span
        root.update_name(encoded.name)
        root.set_attributes(encoded.attributes)
        if live.status == "error":
            root.set_status(Status(StatusCode.ERROR, str(encoded.record.get("error"))[:500]))
        root.end(end_time=live.wall_ns + live.ended - live.started)


def _spans(live: LiveTrace, span: Any) -> bool:
    """Whether `span` is one of the trace's own."""
    shared = (step.shared[0] for step in live.steps if step.shared is not None)
    return span is live.otel_span or any(span is own for own in shared)
