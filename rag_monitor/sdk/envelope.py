"""OTLP bytes: one span per trace, and the request that carries many.

Spans are serialised one by one, so that a batch can be measured, split on 413 and kept on disk
without encoding anything twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from rag_monitor import semconv
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.wire import AttributeValue, field, varint

CONTENT_TYPE: Final = "application/x-protobuf"
_RESOURCE_SPANS = b"\x0a"  # ExportTraceServiceRequest.resource_spans = 1
_RESOURCE = b"\x0a"  # ResourceSpans.resource = 1
_SCOPE_SPANS = b"\x12"  # ResourceSpans.scope_spans = 2
_SCOPE = b"\x0a"  # ScopeSpans.scope = 1
_SPAN = b"\x12"  # ScopeSpans.spans = 2


class Envelope:
    """Wraps encoded spans of one application into a request body."""

    def __init__(self, options: Options, sdk_version: str) -> None:
        self._attributes: dict[str, AttributeValue] = {
            semconv.SERVICE_NAME: options.app,
            "telemetry.sdk.name": "rag-monitor",
            "telemetry.sdk.language": "python",
            "telemetry.sdk.version": sdk_version,
        }
        if options.environment:
            self._attributes[semconv.DEPLOYMENT_ENVIRONMENT] = options.environment
        if options.release:
            self._attributes[semconv.SERVICE_VERSION] = options.release
        scope = InstrumentationScope(name="rag_monitor", version=sdk_version)
        self._scope = field(_SCOPE, scope.SerializeToString())

    def wrap(self, spans: Iterable[bytes], dropped: Mapping[str, int]) -> bytes:
        """The request body; `dropped` tells the server what was lost since the last one."""
        attributes = self._attributes
        if dropped:
            attributes = {**attributes, semconv.DROPPED: json.dumps(dict(dropped))}
        resource = Resource(attributes=to_attributes(attributes)).SerializeToString()
        parts = [self._scope]
        for span in spans:
            parts += (_SPAN, varint(len(span)), span)
        size = sum(map(len, parts))
        head = field(_RESOURCE, resource) + _SCOPE_SPANS + varint(size)
        return b"".join((_RESOURCE_SPANS, varint(len(head) + size), head, *parts))


def rejected_spans(reply: bytes) -> int:
    """How many spans a 200 refused; 0 when the reply cannot be read."""
    if not reply:
        return 0
    try:
        message = ExportTraceServiceResponse.FromString(reply)
    except Exception:  # noqa: BLE001 - protobuf raises its own types; an odd 200 is still a 200
        return 0
    return max(0, int(message.partial_success.rejected_spans))


def to_attributes(values: Mapping[str, AttributeValue]) -> list[KeyValue]:
    """Protobuf attributes in the order given."""
    return [KeyValue(key=key, value=_any(value)) for key, value in values.items()]


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
