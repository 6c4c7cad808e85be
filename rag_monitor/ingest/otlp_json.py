"""OTLP/JSON into the protobuf messages of OTLP/HTTP.

protobuf's own JSON mapping reads the hex ids of OTLP as base64 and takes no lone surrogates, so
the mapping is done here, field by field. What that mapping writes is read as well: ids in base64,
enums by name, fields by their names in the .proto file. Unknown fields are ignored; a wrong type
raises, which costs one span, not the request.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeVar

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span, Status, TracesData

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.errors import IngestError, MalformedPayload, PayloadTooLarge

_MAX_DEPTH: Final = 64
_UINT32: Final = 2**32 - 1
_UINT64: Final = 2**64 - 1
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_URL_SAFE: Final = str.maketrans("-_", "+/")


R = TypeVar("R")


class FieldError(IngestError):
    """A field has the wrong type or form."""


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
        kept.schema_url = text(member(resource, "schemaUrl") or "", "schemaUrl")
        for scope in objects(resource, "scopeSpans"):
            target = kept.scope_spans.add()
            fill(target.scope, scope.get("scope"), "scope")
            spans = [] if scope.get("spans") is None else scope["spans"]
            if not isinstance(spans, list):
                raise MalformedPayload("`spans` must be a list of objects")
            count += len(spans)
            if count > max_spans:
                raise PayloadTooLarge(
                    "more than {most} spans in one request; send fewer", most=max_spans
                )
            reasons.extend(_add_spans(target, spans))
    return request, reasons


def _add_spans(target: ScopeSpans, spans: list[object]) -> Iterator[str]:
    for span in spans:
        try:
            target.spans.append(span_from_json(span))
        except FieldError as error:
            yield str(error)


def envelope(value: object, name: str) -> dict[str, Any]:
    """The request object."""
    if not isinstance(value, dict):
        raise MalformedPayload("an OTLP request is a JSON object with `{name}`", name=name)
    return value


def member(value: Mapping[str, Any], name: str) -> Any:
    """A field by its JSON name, else by its name in the .proto file."""
    field = value.get(name)
    return value.get(_proto_name(name)) if field is None else field


@cache
def _proto_name(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def objects(value: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The objects of a repeated field."""
    listed = member(value, name)
    items = [] if listed is None else listed
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise MalformedPayload("`{name}` must be a list of objects", name=name)
    yield from items


def fill(target: Resource | InstrumentationScope, value: object, what: str) -> None:
    """Read a resource or a scope."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise MalformedPayload("`{what}` must be an object", what=what)
    try:
        target.attributes.extend(attributes(value))
        if isinstance(target, InstrumentationScope):
            target.name = text(value.get("name") or "", "scope.name")
            target.version = text(value.get("version") or "", "scope.version")
    except FieldError as error:
        raise MalformedPayload("`{what}`: {reason}", what=what, reason=error) from None


def span_from_json(value: object) -> Span:
    """One span.

    Raises:
        FieldError: What is wrong with it.
    """
    if not isinstance(value, dict):
        raise FieldError("span is not an object")
    span = Span(
        trace_id=binary_id(member(value, "traceId"), "traceId", 16),
        span_id=binary_id(member(value, "spanId"), "spanId", 8),
        name=text(value.get("name") or "", "name"),
        kind=_enum(value.get("kind"), "kind", Span.SpanKind),
        start_time_unix_nano=nanoseconds(value, "startTimeUnixNano"),
        end_time_unix_nano=nanoseconds(value, "endTimeUnixNano"),
        attributes=attributes(value),
        flags=integer(value.get("flags", 0), "flags", 0, _UINT32),
        trace_state=text(member(value, "traceState") or "", "traceState"),
    )
    if parent := member(value, "parentSpanId"):
        span.parent_span_id = binary_id(parent, "parentSpanId", 8, zero=True)
    _status(span, value.get("status"))
    span.events.extend(_event(item) for item in _items(value, "events"))
    for item in _items(value, "links"):
        link = span.links.add(attributes=attributes(item))
        link.trace_id = binary_id(member(item, "traceId"), "links.traceId", 16, zero=True)
        link.span_id = binary_id(member(item, "spanId"), "links.spanId", 8, zero=True)
    for name in ("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"):
        if count := member(value, name):
            setattr(span, _proto_name(name), integer(count, name, 0, _UINT32))
    return span


def _status(span: Span, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        raise FieldError("status is not an object")
    span.status.code = _enum(value.get("code"), "status.code", Status.StatusCode)
    span.status.message = text(value.get("message") or "", "status.message")


def _event(value: dict[str, Any]) -> Span.Event:
    return Span.Event(
        name=text(value.get("name") or "", "event name"),
        time_unix_nano=nanoseconds(value, "timeUnixNano"),
        attributes=attributes(value),
    )


def nanoseconds(value: Mapping[str, Any], name: str) -> int:
    """A moment since 1970; 0 where it is not said."""
    moment = member(value, name)
    return 0 if moment is None else integer(moment, name, 0, _UINT64)


def _enum(value: object, name: str, names: Any) -> Any:
    """A member of an enum, as a number or by its name."""
    if value is None:
        return 0
    if isinstance(value, str) and value in names.keys():  # noqa: SIM118 - not a mapping
        return names.Value(value)
    try:
        return integer(value, name, 0, 2**31 - 1)
    except FieldError:
        raise FieldError(
            "{name} is neither a number nor one of {known}",
            name=name,
            known=", ".join(names.keys()),
        ) from None


def attributes(value: dict[str, Any]) -> list[KeyValue]:
    """The `attributes` of any OTLP object."""
    return [_key_value(item, 0) for item in _items(value, "attributes")]


def _items(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = value.get(name)
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise FieldError("{name} is not a list of objects", name=name)
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
        raise FieldError("an attribute value is not an AnyValue object such as a stringValue")
    if depth > _MAX_DEPTH:
        raise FieldError("an attribute value is nested deeper than {most} levels", most=_MAX_DEPTH)
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
    raw = _from_base64(value)
    if raw is None:
        raise FieldError("bytesValue is not a base64 string")
    return AnyValue(bytes_value=raw)


def _from_base64(value: object) -> bytes | None:
    """Bytes from base64 of either alphabet, padded or not; None when it is not base64."""
    if not isinstance(value, str):
        return None
    digits = value.rstrip("=").translate(_URL_SAFE)
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _members(value: object) -> list[Any]:
    members = value.get("values") or [] if isinstance(value, dict) else None
    if not isinstance(members, list):
        raise FieldError("arrayValue and kvlistValue must have a list named values")
    return members


def _array(value: object, depth: int) -> AnyValue:
    result = AnyValue()
    result.array_value.SetInParent()
    result.array_value.values.extend(any_value(v, depth + 1) for v in _members(value))
    return result


def _kvlist(value: object, depth: int) -> AnyValue:
    result = AnyValue()
    result.kvlist_value.SetInParent()
    result.kvlist_value.values.extend(_key_value(v, depth + 1) for v in _members(value))
    return result


def _string(value: object) -> AnyValue:
    return AnyValue(string_value=text(value, "stringValue"))


def _int(value: object) -> AnyValue:
    return AnyValue(int_value=integer(value, "intValue", _INT64_MIN, _INT64_MAX))


def _by_both_names(readers: dict[str, R]) -> dict[str, R]:
    return readers | {_proto_name(name): read for name, read in readers.items()}


_LEAVES: Final[dict[str, Callable[[object], AnyValue]]] = _by_both_names(
    {
        "stringValue": _string,
        "boolValue": _bool,
        "intValue": _int,
        "doubleValue": _double,
        "bytesValue": _bytes,
    }
)
_NESTED: Final[dict[str, Callable[[object, int], AnyValue]]] = _by_both_names(
    {"arrayValue": _array, "kvlistValue": _kvlist}
)


def text(value: object, name: str) -> str:
    """A string that protobuf can carry."""
    if not isinstance(value, str):
        raise FieldError("{name} is not a string", name=name)
    return clean_text(value)


def integer(value: object, name: str, low: int, high: int) -> int:
    """An integer, as a number or as a decimal string."""
    if isinstance(value, str) and len(value) <= 21:
        try:
            value = int(value)
        except ValueError:
            raise FieldError("{name} is not an integer", name=name) from None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError("{name} is not an integer", name=name)
    if not low <= value <= high:
        raise FieldError("{name} is out of range", name=name)
    return value


def binary_id(value: object, name: str, size: int, *, zero: bool = False) -> bytes:
    """An id of `size` bytes from hex digits of any case, or from padded base64.

    The length tells which: hex digits are base64 digits, too.
    """
    raw = None
    if isinstance(value, str) and len(value) == 2 * size:
        raw = _from_hex(value)
    elif isinstance(value, str) and len(value) == 4 * -(-size // 3):
        raw = _from_base64(value)
    if raw is not None and len(raw) == size and (zero or any(raw)):
        return raw
    raise FieldError(
        "{name} is not {digits} hex digits or {size} bytes in base64, or is all zero",
        name=name,
        digits=2 * size,
        size=size,
    )


def _from_hex(digits: str) -> bytes | None:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return None
