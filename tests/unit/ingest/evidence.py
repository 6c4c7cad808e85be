"""Spans written by hand, and requests made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rag_monitor.domain.ports import IngestBatch, WriteOutcome
from rag_monitor.domain.trace import Trace
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.envelope import decode_traces
from rag_monitor.ingest.options import DeriveOptions, IngestOptions

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
START_NS = 1_767_614_400_000_000_000
RECEIVED = datetime(2026, 1, 5, 12, 5, tzinfo=UTC)


def value(item: object) -> dict[str, Any]:
    if isinstance(item, bool):
        return {"boolValue": item}
    if isinstance(item, int):
        return {"intValue": str(item)}
    if isinstance(item, float):
        return {"doubleValue": item}
    if isinstance(item, list):
        return {"arrayValue": {"values": [value(member) for member in item]}}
    if isinstance(item, Mapping):
        return {"kvlistValue": {"values": pairs(item)}}
    return {} if item is None else {"stringValue": str(item)}


def pairs(attributes: Mapping[str, object]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(item)} for key, item in attributes.items()]


def span(
    number: int,
    name: str,
    attributes: Mapping[str, object] | None = None,
    *,
    parent: int | None = None,
    ms: tuple[float, float] = (0, 100),
    events: Sequence[tuple[str, float, Mapping[str, object]]] = (),
    **fields: Any,
) -> dict[str, Any]:
    """An OTLP/JSON span; `ms` is its start and end after START_NS."""
    found: dict[str, Any] = {
        "traceId": TRACE_ID,
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(START_NS + round(ms[0] * 1e6)),
        "endTimeUnixNano": str(START_NS + round(ms[1] * 1e6)),
        "attributes": pairs(attributes or {}),
        "events": [
            {
                "name": event,
                "timeUnixNano": str(START_NS + round(at * 1e6)),
                "attributes": pairs(extra),
            }
            for event, at, extra in events
        ],
    }
    if parent is not None:
        found["parentSpanId"] = f"{parent:016x}"
    return {**found, **fields}


def request(
    *spans: Mapping[str, Any],
    resource: Mapping[str, object] | None = None,
    scope: str = "tests",
) -> bytes:
    """An OTLP/JSON request."""
    content = {
        "resourceSpans": [
            {
                "resource": {"attributes": pairs(resource or {"service.name": "shop"})},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }
    return json.dumps(content).encode()


def protobuf(*spans: Mapping[str, Any], resource: Mapping[str, object] | None = None) -> bytes:
    """The same request as protobuf; spans with broken ids cannot be written this way."""
    decoded = decode_traces(request(*spans, resource=resource), json=True, options=IngestOptions())
    message = ExportTraceServiceRequest()
    for blob in decoded.blobs:
        message.MergeFromString(blob.payload)
    return message.SerializeToString()


def derived(
    *spans: Mapping[str, Any],
    resource: Mapping[str, object] | None = None,
    scope: str = "tests",
    options: DeriveOptions | None = None,
) -> Trace | None:
    """The trace of the spans, sent in one request."""
    body = request(*spans, resource=resource, scope=scope)
    decoded = decode_traces(body, json=True, options=IngestOptions())
    assert decoded.rejected == 0, decoded.message
    blobs = [(blob.format, blob.payload) for blob in decoded.blobs]
    return derive("default", blobs, RECEIVED, options)


def trace_of(*spans: Mapping[str, Any], **options: Any) -> Trace:
    """As `derived`, for spans that are a request."""
    trace = derived(*spans, **options)
    assert trace is not None
    return trace


class Sink:
    """Keeps what was written; fails when told to."""

    def __init__(self) -> None:
        self.batches: list[IngestBatch] = []
        self.failure: Exception | None = None

    async def write(self, batch: IngestBatch) -> WriteOutcome:
        if self.failure is not None:
            raise self.failure
        self.batches.append(batch)
        return WriteOutcome(new=len(batch.blobs))
