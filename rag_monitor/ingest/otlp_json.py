"""OTLP/JSON into the protobuf messages of OTLP/HTTP.

protobuf's own JSON mapping reads the hex ids of OTLP as base64 and takes no lone surrogates, so
the mapping is done here, field by field. Unknown fields are ignored; a wrong type raises, which
costs one span, not the request.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span, TracesData

from rag_monitor.errors import MalformedPayload, PayloadTooLarge
from rag_monitor.ingest.text import clean_text

_MAX_DEPTH: Final = 64
_UINT32: Final = 2**32 - 1
_UINT64: Final = 2**64 - 1
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class FieldError(ValueError):
    """A field has the wrong type or form; the message names it and says what it must be."""


def traces_from_json(value: object, max_spans: int) -> tuple[TracesData, list[str]]:
    """An OTLP/JSON trace request as a message, and one reason per span that was left out.

    Raises:
        MalformedPayload: The envelope, a resource or a scope is not shaped like OTLP.
        PayloadTooLarge: More than `max_spans` spans.
    """
    request = TracesData()
    reasons: list[str] = []
    count = 0
    for resource in objects(envelope(value, "resourceSpans"), "resourceSpans"):
        kept = request.resource_spans.add()
        fill(kept.resource, resource.get("resource"), "resource")
        kept.schema_url = text(resource.get("schemaUrl") or "", "schemaUrl")
        for scope in objects(resource, "scopeSpans"):
            target = kept.scope_spans.add()
            fill(target.scope, scope.get("scope"), "scope")
            spans = [] if scope.get("spans") is None else scope["spans"]
            if not isinstance(spans, list):
                raise MalformedPayload("`spans` must be a list of objects")
            count += len(spans)
            if count > max_spans:
                raise PayloadTooLarge(f"more than {max_spans} spans in one request; send fewer")
            reasons.extend(_add_spans(target, spans))
    return request, reasons


def _add_spans(target: ScopeSpans, spans: list[object]) -> Iterator[str]:
    for span in spans:
        try:
            target.spans.append(span_from_json(span))
        except FieldError as error:
            yield str(error)


def envelope(value: object, name: str) -> dict[str, Any]:
    """The request object; says so when its names are not lowerCamelCase."""
    if not isinstance(value, dict):
        raise MalformedPayload(f"an OTLP request is a JSON object with `{name}`")
    snake = "".join("_" + c.lower() if c.isupper() else c for c in name)
    if snake in value:
        raise MalformedPayload(f"`{snake}` is not OTLP/JSON; its names are lowerCamelCase: {name}")
    return value


def objects(value: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The objects of a repeated field."""
    items = [] if value.get(name) is None else value[name]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise MalformedPayload(f"`{name}` must be a list of objects")
    yield from items


def fill(target: Resource | InstrumentationScope, value: object, what: str) -> None:
    """Read a resource or a scope."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise MalformedPayload(f"`{what}` must be an object")
    try:
        target.attributes.extend(attributes(value))
        if isinstance(target, InstrumentationScope):
            target.name = text(value.get("name") or "", "scope.name")
            target.version = text(value.get("version") or "", "scope.version")
    except FieldError as error:
        raise MalformedPayload(f"`{what}`: {error}") from None


def span_from_json(value: object) -> Span:
    """One span.

    Raises:
        FieldError: What is wrong with it.
    """
    if not isinstance(value, dict):
        raise FieldError("span is not an object")
    span = Span(
        trace_id=hex_id(value.get("traceId"), "traceId", 16),
        span_id=hex_id(value.get("spanId"), "spanId", 8),
        name=text(value.get("name") or "", "name"),
        kind=integer(value.get("kind", 0), "kind", 0, 2**31 - 1),  # type: ignore[arg-type]
        start_time_unix_nano=integer(
            value.get("startTimeUnixNano", 0), "startTimeUnixNano", 0, _UINT64
        ),
        end_time_unix_nano=integer(value.get("endTimeUnixNano", 0), "endTimeUnixNano", 0, _UINT64),
        attributes=attributes(value),
        flags=integer(value.get("flags", 0), "flags", 0, _UINT32),
        trace_state=text(value.get("traceState") or "", "traceState"),
    )
    if value.get("parentSpanId"):
        span.parent_span_id = hex_id(value["parentSpanId"], "parentSpanId", 8, zero=True)
    _status(span, value.get("status"))
    span.events.extend(_event(item) for item in _items(value, "events"))
    for item in _items(value, "links"):
        link = span.links.add(attributes=attributes(item))
        link.trace_id = hex_id(item.get("traceId"), "links.traceId", 16, zero=True)
        link.span_id = hex_id(item.get("spanId"), "links.spanId", 8, zero=True)
    for name, field in (
        ("droppedAttributesCount", "dropped_attributes_count"),
        ("droppedEventsCount", "dropped_events_count"),
        ("droppedLinksCount", "dropped_links_count"),
    ):
        if value.get(name):
            setattr(span, field, integer(value[name], name, 0, _UINT32))
    return span


def _status(span: Span, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        raise FieldError("status is not an object")
    code = integer(value.get("code", 0), "status.code", 0, 2**31 - 1)
    span.status.code = code  # type: ignore[assignment]
    span.status.message = text(value.get("message") or "", "status.message")


def _event(value: dict[str, Any]) -> Span.Event:
    return Span.Event(
        name=text(value.get("name") or "", "event name"),
        time_unix_nano=integer(value.get("timeUnixNano", 0), "event timeUnixNano", 0, _UINT64),
        attributes=attributes(value),
    )


def attributes(value: dict[str, Any]) -> list[KeyValue]:
    """The `attributes` of any OTLP object."""
    return [_key_value(item, 0) for item in _items(value, "attributes")]


def _items(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = value.get(name)
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise FieldError(f"{name} is not a list of objects")
    return items


def _key_value(item: object, depth: int) -> KeyValue:
    if not isinstance(item, dict):
        raise FieldError("an attribute is not an object with key and value")
    return KeyValue(
        key=text(item.get("key") or "", "attribute key"), value=any_value(item.get("value"), depth)
    )


def any_value(value: object, depth: int = 0) -> AnyValue:
    """An AnyValue; `{}` and null are the null value."""
    if value is None or value == {}:
        return AnyValue()
    if not isinstance(value, dict):
        raise FieldError("an attribute value is not an AnyValue object such as {stringValue: …}")
    if depth > _MAX_DEPTH:
        raise FieldError(f"an attribute value is nested deeper than {_MAX_DEPTH} levels")
    for name, read in _LEAVES.items():
        if name in value:
            return read(value[name])
    for name, nested in _NESTED.items():
        if name in value:
            return nested(value[name], depth)
    return AnyValue()


def _bool(value: object) -> AnyValue:
    if not isinstance(value, bool):
        raise FieldError("boolValue is not true or false")
    return AnyValue(bool_value=value)


def _double(value: object) -> AnyValue:
    if isinstance(value, str):
        try:
            return AnyValue(double_value=_SPECIAL[value] if value in _SPECIAL else float(value))
        except ValueError:
            raise FieldError("doubleValue is not a number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError("doubleValue is not a number")
    return AnyValue(double_value=float(value))


def _bytes(value: object) -> AnyValue:
    if not isinstance(value, str):
        raise FieldError("bytesValue is not a base64 string")
    try:
        return AnyValue(bytes_value=base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        raise FieldError("bytesValue is not base64") from None


def _members(value: object) -> list[Any]:
    members = value.get("values") or [] if isinstance(value, dict) else None
    if not isinstance(members, list):
        raise FieldError("arrayValue and kvlistValue hold a list named values")
    return members


def _array(value: object, depth: int) -> AnyValue:
    found = AnyValue()
    found.array_value.SetInParent()
    found.array_value.values.extend(any_value(v, depth + 1) for v in _members(value))
    return found


def _kvlist(value: object, depth: int) -> AnyValue:
    found = AnyValue()
    found.kvlist_value.SetInParent()
    found.kvlist_value.values.extend(_key_value(v, depth + 1) for v in _members(value))
    return found


def _string(value: object) -> AnyValue:
    return AnyValue(string_value=text(value, "stringValue"))


def _int(value: object) -> AnyValue:
    return AnyValue(int_value=integer(value, "intValue", _INT64_MIN, _INT64_MAX))


_LEAVES: Final[dict[str, Callable[[object], AnyValue]]] = {
    "stringValue": _string,
    "boolValue": _bool,
    "intValue": _int,
    "doubleValue": _double,
    "bytesValue": _bytes,
}
_NESTED: Final[dict[str, Callable[[object, int], AnyValue]]] = {
    "arrayValue": _array,
    "kvlistValue": _kvlist,
}


def text(value: object, name: str) -> str:
    """A string that protobuf can carry."""
    if not isinstance(value, str):
        raise FieldError(f"{name} is not a string")
    return clean_text(value)


def integer(value: object, name: str, low: int, high: int) -> int:
    """An integer, as a number or as a decimal string."""
    if isinstance(value, str) and len(value) <= 21:
        try:
            value = int(value)
        except ValueError:
            raise FieldError(f"{name} is not an integer") from None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{name} is not an integer")
    if not low <= value <= high:
        raise FieldError(f"{name} is out of range")
    return value


def hex_id(value: object, name: str, size: int, *, zero: bool = False) -> bytes:
    """An id of `size` bytes from hex digits of any case."""
    if isinstance(value, str) and len(value) == 2 * size:
        try:
            found = bytes.fromhex(value)
        except ValueError:
            found = b""
        if len(found) == size and (zero or any(found)):
            return found
    raise FieldError(f"{name} is not {2 * size} hex digits, or all zero")
