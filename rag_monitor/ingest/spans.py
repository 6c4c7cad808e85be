"""OTLP evidence to `Span` values: decoded once, duplicates removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rag_monitor.domain.span import Span, SpanEvent
from rag_monitor.errors import MalformedPayload
from rag_monitor.ingest.options import DeriveLimits

_MAX_DEPTH: Final = 32


def decode_spans(payload: bytes, limits: DeriveLimits | None = None) -> list[Span]:
    """The spans of one blob (a protobuf `TracesData`, which is wire-equal to a trace request).

    Attributes and events beyond the limits count as dropped; the last ones are kept.

    Raises:
        MalformedPayload: The blob is not such a message.
    """
    try:
        request = ExportTraceServiceRequest.FromString(payload)
    except DecodeError as error:
        raise MalformedPayload("stored spans cannot be decoded: {reason}", reason=error) from None
    limits = limits or DeriveLimits()
    spans: list[Span] = []
    for resource_spans in request.resource_spans:
        resource = read_attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope.name
            spans.extend(_span(m, resource, scope, limits) for m in scope_spans.spans)
    return spans


def unique_spans(spans: Iterable[Span]) -> list[Span]:
    """One span per span id, by start; of duplicates the one that knows its end and most else.

    Events that came alone (`logs.event_of`) are put to their span. Where it never came, they are a
    span of their own that began with the first of them.
    """
    best: dict[str, Span] = {}
    alone: dict[str, list[Span]] = {}
    for span in spans:
        if not (span.start_ns or span.name or span.attributes):
            alone.setdefault(span.span_id, []).append(span)
            continue
        other = best.get(span.span_id)
        if other is None or _weight(span) > _weight(other):
            best[span.span_id] = span
    for span_id, notes in alone.items():
        best[span_id] = _with_events(best.get(span_id), notes)
    return sorted(best.values(), key=lambda span: (span.start_ns, span.end_ns, span.span_id))


def _with_events(span: Span | None, notes: Sequence[Span]) -> Span:
    span = span or notes[0]
    events = list(span.events)
    for event in (event for note in notes for event in note.events):
        if event not in events:  # a request that is sent again brings the same ones
            events.append(event)
    events.sort(key=lambda event: event.time_ns)
    begun = span.start_ns or min((event.time_ns for event in events), default=0)
    return replace(span, events=tuple(events), start_ns=begun)


def _weight(span: Span) -> tuple[bool, int, int, int, int]:
    return (
        span.end_ns > 0,
        len(span.attributes),
        len(span.events),
        span.end_ns,
        span.status_code,
    )


def _span(message: Any, resource: dict[str, object], scope: str, limits: DeriveLimits) -> Span:
    parent = message.parent_span_id
    pairs, events = message.attributes, message.events
    dropped = (
        message.dropped_attributes_count
        + message.dropped_events_count
        + message.dropped_links_count
    )
    if len(pairs) > limits.max_attributes:
        dropped += len(pairs) - limits.max_attributes
        pairs = pairs[-limits.max_attributes :]
    if len(events) > limits.max_events:
        dropped += len(events) - limits.max_events
        events = events[-limits.max_events :]
    return Span(
        trace_id=message.trace_id.hex(),
        span_id=message.span_id.hex(),
        parent_span_id=parent.hex() if any(parent) else None,
        name=message.name,
        start_ns=message.start_time_unix_nano,
        end_ns=message.end_time_unix_nano,
        attributes=read_attributes(pairs),
        events=tuple(
            SpanEvent(
                name=event.name,
                time_ns=event.time_unix_nano,
                attributes=read_attributes(event.attributes[-limits.max_attributes :]),
            )
            for event in events
        ),
        kind=message.kind,
        status_code=message.status.code,
        status_message=message.status.message,
        flags=message.flags,
        scope=scope,
        resource=resource,
        dropped=dropped,
    )


def read_attributes(pairs: Any, depth: int = 0) -> dict[str, object]:
    """OTLP key-value pairs as plain values."""
    # Nearly all are texts: empty where it is something else, or truly empty.
    return {pair.key: pair.value.string_value or _value(pair.value, depth) for pair in pairs}


def _value(value: Any, depth: int) -> object:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        text: object = value.string_value
        return text
    if kind is None or depth > _MAX_DEPTH:
        return None
    if kind == "array_value":
        return [_value(item, depth + 1) for item in value.array_value.values]
    if kind == "kvlist_value":
        return read_attributes(value.kvlist_value.values, depth + 1)
    plain: object = getattr(value, kind)
    return plain
