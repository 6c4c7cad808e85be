"""Where a finished trace goes: into one root span, child spans on request, or host spans."""

from __future__ import annotations

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.encoding import EncodedTrace, Encoder
from rag_monitor.sdk.envelope import to_attributes
from rag_monitor.sdk.ids import new_span_id
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.sdk.share import HostSpans
from rag_monitor.sdk.step_attributes import step_attributes, step_name
from rag_monitor.sdk.steps import GenerationStep, RetrievalStep, Step
from rag_monitor.sdk.wire import AttributeValue


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
        return [root, *(_child(live, encoded, step).SerializeToString() for step in live.steps)]


def _child(live: LiveTrace, encoded: EncodedTrace, step: Step) -> Span:
    attributes: dict[str, AttributeValue] = step_attributes(step, encoded)
    offset = live.wall_ns - live.started
    client = isinstance(step, RetrievalStep | GenerationStep)
    span = Span(
        trace_id=live.trace_id_int.to_bytes(16, "big"),
        span_id=new_span_id().to_bytes(8, "big"),
        parent_span_id=live.span_id.to_bytes(8, "big"),
        name=step_name(step, encoded),
        kind=Span.SPAN_KIND_CLIENT if client else Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=offset + step.started,
        end_time_unix_nano=offset + step.ended,
        attributes=to_attributes(attributes),
        flags=0x101,
    )
    if not step.ok:
        span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR))
    return span
