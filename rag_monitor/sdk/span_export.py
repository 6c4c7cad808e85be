"""Finished traces as spans: our own protobuf, or spans of the host's OpenTelemetry provider.

With `provider="share"` spans are opened in the call, so that the host's spans nest below them.
Their attributes are computed on the sender's thread, which ends them at the end times of the call.
A step's attributes carry both name sets, OpenTelemetry's and OpenInference's.
"""

from __future__ import annotations

from typing import Any

from opentelemetry import trace as otel_trace
from opentelemetry.context import attach
from opentelemetry.trace import INVALID_SPAN, SpanKind, Status, StatusCode

from rag_monitor import semconv
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.encoding import EncodedTrace, Encoder, shared_attributes
from rag_monitor.sdk.otel import detach_here, new_span_id
from rag_monitor.sdk.record import CURRENT, LiveTrace, NullTrace, TraceRecorder
from rag_monitor.sdk.sanitise import whole
from rag_monitor.sdk.step import Step
from rag_monitor.sdk.steps import GenerationStep, RetrievalStep
from rag_monitor.sdk.wire import AttributeValue, write_span


class SpanExport:
    """Turns finished traces into spans for the sender."""

    def __init__(
        self, encoder: Encoder, shared: HostSpans | None, counters: Counters, *, steps: bool
    ) -> None:
        self._encoder = encoder
        self._shared = shared
        self._counters = counters
        self._steps = steps

    def spans(self, live: LiveTrace) -> list[bytes]:
        """Protobuf spans, the root first; empty when the host's provider took the trace."""
        if self._shared is not None and live.otel_span is not None:
            self._shared.close(live)
            self._counters.deliver(1)
            return []
        encoded = self._encoder.describe(live)
        root = self._encoder.root(live, encoded)
        if not self._steps:
            return [root]
        return [root, *(_child(live, encoded, step) for step in live.steps)]


def _child(live: LiveTrace, encoded: EncodedTrace, step: Step) -> bytes:
    """A retrieval, call or generation as a span of its own, for backends that draw trees."""
    offset = live.wall_ns - live.started
    return write_span(
        trace_id=live.trace_id_int,
        span_id=new_span_id(),
        parent_id=live.span_id,
        name=step_name(step, encoded),
        start_ns=offset + step.started,
        end_ns=offset + step.ended,
        attributes=step_attributes(step, encoded),
        error="" if step.failed else None,
        client=isinstance(step, RetrievalStep | GenerationStep),
    )


def step_name(step: Step, encoded: EncodedTrace) -> str:
    """The span name: the operation, then what it works on."""
    name = (
        encoded.sanitiser.label(step.model if isinstance(step, GenerationStep) else step.name) or ""
    )
    verb = {"retrieval": "retrieval", "generation": "chat", "plugin": "execute_tool"}
    return f"{verb.get(step.kind, 'invoke_workflow')} {name}".strip()


def step_attributes(step: Step, encoded: EncodedTrace) -> dict[str, AttributeValue]:
    """Everything a backend needs to read the step without its root."""
    attributes = shared_attributes(encoded.record)
    if isinstance(step, RetrievalStep):
        attributes.update(_retrieval(step, encoded))
    elif isinstance(step, GenerationStep):
        attributes.update(_generation(step, encoded))
    else:
        attributes.update(_hit(step, encoded))
    if step.reason is not None:
        attributes[semconv.ERROR_TYPE] = encoded.sanitiser.error(step.reason, 200) or "error"
    return attributes


def _retrieval(step: RetrievalStep, encoded: EncodedTrace) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        semconv.GEN_AI_OPERATION: "retrieval",
        semconv.OI_SPAN_KIND: "RERANKER" if step.reranked is True else "RETRIEVER",
    }
    base = encoded.sanitiser.label(step.knowledge_base)
    if base is not None:
        attributes[semconv.GEN_AI_DATA_SOURCE_ID] = base
    question = encoded.record.get("question")
    query = encoded.sanitiser.content("query", step.query) or question
    if isinstance(query, str):
        attributes[semconv.GEN_AI_QUERY_TEXT] = query
        attributes[semconv.OI_INPUT] = query
        attributes[semconv.OI_INPUT_MIME] = semconv.TEXT_PLAIN
    documents = encoded.documents.get(id(step))
    if documents is not None:
        attributes[semconv.GEN_AI_DOCUMENTS] = documents
    return attributes


def _generation(step: GenerationStep, encoded: EncodedTrace) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        semconv.GEN_AI_OPERATION: "chat",
        semconv.OI_SPAN_KIND: "LLM",
    }
    model = encoded.sanitiser.label(step.model)
    if model is not None:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = model
        attributes[semconv.OI_MODEL] = model
    tokens_in, tokens_out = whole(step.input_tokens), whole(step.output_tokens)
    if tokens_in is not None:
        attributes[semconv.GEN_AI_INPUT_TOKENS] = tokens_in
    if tokens_out is not None:
        attributes[semconv.GEN_AI_OUTPUT_TOKENS] = tokens_out
    if step.token_ns is not None:
        attributes[semconv.GEN_AI_REQUEST_STREAM] = True
        attributes[semconv.GEN_AI_TIME_TO_FIRST_CHUNK] = (step.token_ns - step.started) / 1e9
    return attributes


def _hit(step: Step, encoded: EncodedTrace) -> dict[str, AttributeValue]:
    name = encoded.sanitiser.label(step.name) or "unknown"
    if step.kind == "plugin":
        return {
            semconv.GEN_AI_OPERATION: "execute_tool",
            semconv.OI_SPAN_KIND: "TOOL",
            semconv.GEN_AI_TOOL_NAME: name,
            semconv.OI_TOOL_NAME: name,
        }
    return {
        semconv.GEN_AI_OPERATION: "invoke_workflow",
        semconv.OI_SPAN_KIND: "CHAIN",
        semconv.GEN_AI_WORKFLOW_NAME: name,
    }


class HostSpans:
    """Emits traces through the host's provider."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def open(
        self,
        recorder: TraceRecorder,
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
