"""OTLP/JSON to protobuf bytes: hex ids by our own hand, everything else by the JSON mapping."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from rag_monitor.errors import MalformedPayload, PayloadTooLarge

_ID_KEYS: Final = (
    ("traceId", "trace_id"),
    ("spanId", "span_id"),
    ("parentSpanId", "parent_span_id"),
)


def parse_json(body: bytes, max_depth: int) -> Any:
    """The JSON value of a body.

    Raises:
        MalformedPayload: Not JSON, not UTF-8, or nested deeper than `max_depth`.
    """
    if _depth(body) > max_depth:
        raise MalformedPayload(f"the JSON is nested deeper than {max_depth} levels")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedPayload(f"the body is not valid JSON: {error}") from None


def _depth(body: bytes) -> int:
    """Upper bound of the nesting: brackets inside strings count too, which only errs on the safe
    side for texts that hold many of them in a row.
    """
    if body.count(b"[") + body.count(b"{") <= 64:
        return 0
    deepest = depth = 0
    inside = escaped = False
    for byte in body:
        if inside:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                inside = False
        elif byte == 0x22:
            inside = True
        elif byte in (0x5B, 0x7B):
            depth += 1
            deepest = max(deepest, depth)
        elif byte in (0x5D, 0x7D):
            depth -= 1
    return deepest


def to_protobuf(value: Any, max_spans: int) -> tuple[bytes, list[str]]:
    """An OTLP/JSON trace request as protobuf bytes, and why spans were left out.

    Raises:
        MalformedPayload: The value is not shaped like a trace request.
        PayloadTooLarge: It holds more than `max_spans` spans.
    """
    if not isinstance(value, dict):
        raise MalformedPayload("an OTLP trace request is a JSON object with `resourceSpans`")
    request = ExportTraceServiceRequest()
    reasons: list[str] = []
    count = 0
    for resource in _list(value, "resourceSpans", "resource_spans"):
        kept = request.resource_spans.add()
        _fill(kept, {"resource": resource.get("resource") or {}}, "resource")
        for scope in _list(resource, "scopeSpans", "scope_spans"):
            target = kept.scope_spans.add()
            _fill(target, {"scope": scope.get("scope") or {}}, "scope")
            for span in _list(scope, "spans", "spans"):
                count += 1
                if count > max_spans:
                    raise PayloadTooLarge(f"more than {max_spans} spans in one request")
                reason = _add_span(target, span)
                if reason:
                    reasons.append(reason)
    return request.SerializeToString(), reasons


def _list(value: dict[str, Any], name: str, other: str) -> Iterator[dict[str, Any]]:
    items = value.get(name, value.get(other)) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise MalformedPayload(f"`{name}` must be a list of objects")
    yield from items


def _fill(target: ResourceSpans | ScopeSpans, value: dict[str, Any], what: str) -> None:
    try:
        json_format.ParseDict(value, target, ignore_unknown_fields=True)
    except (json_format.ParseError, RecursionError) as error:
        raise MalformedPayload(f"the {what} cannot be read: {error}") from None


def _add_span(target: ScopeSpans, value: dict[str, Any]) -> str | None:
    """Append the span; the reason when it cannot be."""
    try:
        plain = _with_ids(value)
        plain["links"] = [_with_ids(link) for link in plain.get("links") or []]
        span = json_format.ParseDict(plain, Span(), ignore_unknown_fields=True)
    except (json_format.ParseError, ValueError, TypeError, RecursionError, AttributeError):
        return "span cannot be decoded"
    target.spans.append(span)
    return None


def _with_ids(value: dict[str, Any]) -> dict[str, Any]:
    """Hex ids as the base64 that the JSON mapping of protobuf wants."""
    plain = dict(value)
    for name, other in _ID_KEYS:
        text = plain.pop(name, None) or plain.pop(other, None)
        if text:
            plain[name] = base64.b64encode(bytes.fromhex(text)).decode()
    return plain
