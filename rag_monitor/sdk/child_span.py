"""A retrieval, call or generation as a span of its own, for backends that draw trees."""

from __future__ import annotations

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from rag_monitor.sdk.encoding import EncodedTrace
from rag_monitor.sdk.ids import new_span_id
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.sdk.step_attributes import step_attributes, step_name
from rag_monitor.sdk.steps import GenerationStep, RetrievalStep, Step
from rag_monitor.sdk.wire import AttributeValue


def child_span(live: LiveTrace, encoded: EncodedTrace, step: Step) -> bytes:
    """The step as a span below the root, as protobuf."""
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
        attributes=[KeyValue(key=key, value=_any(value)) for key, value in attributes.items()],
        flags=0x101,
    )
    if not step.ok:
        span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR))
    return span.SerializeToString()


def _any(value: AttributeValue) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=v) for v in value]))
