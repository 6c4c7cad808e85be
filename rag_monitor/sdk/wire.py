"""OTLP bytes, written by hand: one span, and the request that carries many.

A span has a dozen fields. Building message objects for them costs several times what the bytes do,
and it is the sender's largest expense beside the text itself; importing them takes 25 ms. The tests
read everything back with `opentelemetry-proto`. Spans are serialised one by one, so that a batch
can be measured, split on 413 and kept on disk without encoding anything twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from struct import Struct
from typing import Final

from rag_monitor import semconv
from rag_monitor.protobuf import varint
from rag_monitor.sdk.options import Options

AttributeValue = str | bool | int | float | list[str]

STATUS_ERROR: Final = 2
LOCAL_ROOT: Final = 0x100 | 0x01
"""Flags: sampled, and known not to have a remote parent."""

_TRACE_ID: Final = b"\x0a\x10"  # 1: 16 bytes
_SPAN_ID: Final = b"\x12\x08"  # 2: 8 bytes
_PARENT: Final = b"\x22\x08"  # 4: 8 bytes
_NAME: Final = b"\x2a"  # 5
_INTERNAL: Final = b"\x30\x01"  # 6: kind
_CLIENT: Final = b"\x30\x03"
_ATTRIBUTE: Final = b"\x4a"  # 9
_LINK: Final = b"\x6a\x1c\x0a\x10%b\x12\x08%b"  # 13: a trace id and a span id
_STATUS: Final = b"\x7a"  # 15
_TIMES: Final = Struct("<BQBQ")  # 7 and 8: fixed64
_DOUBLE: Final = Struct("<Bd")
_SHORT_TEXT: Final = b"\x4a%c%b\x12%c\x0a%c"  # an attribute up to its text
_FEW_VALUES: Final = frozenset(
    {semconv.OI_SPAN_KIND, semconv.GEN_AI_OPERATION, semconv.OI_INPUT_MIME, semconv.OI_OUTPUT_MIME}
)
"""Attributes whose texts we choose ourselves: encoded once."""
_FLAGS: Final = b"\x85\x01" + LOCAL_ROOT.to_bytes(4, "little")  # 16: fixed32

CONTENT_TYPE: Final = "application/x-protobuf"
# Tags of the request around the spans; every field here holds bytes, a text or a message.
_RESOURCE_SPANS: Final = b"\x0a"  # ExportTraceServiceRequest.resource_spans = 1
_RESOURCE: Final = b"\x0a"  # ResourceSpans.resource = 1
_SCOPE_SPANS: Final = b"\x12"  # ResourceSpans.scope_spans = 2
_SCOPE: Final = b"\x0a"  # ScopeSpans.scope = 1
_SPANS: Final = b"\x12"  # ScopeSpans.spans = 2
_RESOURCE_ATTRIBUTE: Final = b"\x0a"  # Resource.attributes = 1
_SCOPE_NAME = _KEY = _TEXT = b"\x0a"  # InstrumentationScope.name, KeyValue.key, string_value = 1
_SCOPE_VERSION = _VALUE = b"\x12"  # InstrumentationScope.version, KeyValue.value = 2
_LENGTHS: Final = {1: 8, 2: 0, 5: 4}
"""Bytes of a value by its wire type; 2 states its own."""


def write_span(
    *,
    trace_id: int,
    span_id: int,
    name: str,
    start_ns: int,
    end_ns: int,
    attributes: Mapping[str, AttributeValue],
    error: str | None = None,
    link: tuple[int, int] | None = None,
    parent_id: int | None = None,
    client: bool = False,
) -> bytes:
    """An OTLP `Span`.

    Args:
        trace_id: 128 bits.
        span_id: 64 bits.
        name: What it is called.
        start_ns: Nanoseconds since the epoch.
        end_ns: The same.
        attributes: Whole numbers are not negative; lone surrogates in texts cost a character.
        error: Message of the status; None: the status is left unset.
        link: Trace and span id of another span.
        parent_id: 64 bits; None: it is a root.
        client: It asks another service.
    """
    parts = [
        _TRACE_ID,
        trace_id.to_bytes(16, "big"),
        _SPAN_ID,
        span_id.to_bytes(8, "big"),
        b"" if parent_id is None else _PARENT + parent_id.to_bytes(8, "big"),
        field(_NAME, utf8(name)),
        _CLIENT if client else _INTERNAL,
        _TIMES.pack(0x39, start_ns, 0x41, end_ns),
        _FLAGS,
    ]
    for key, value in attributes.items():
        if key in _FEW_VALUES:
            parts.append(_constant(key, str(value)))
        elif type(value) is str:
            _add_text(parts, key, value)
        elif type(value) is bool:
            parts.append(_flag(key, value))
        else:
            parts.append(field(_ATTRIBUTE, _key(key) + field(b"\x12", _number_or_list(value))))
    if link is not None:
        parts.append(_LINK % (link[0].to_bytes(16, "big"), link[1].to_bytes(8, "big")))
    if error is not None:
        parts.append(field(_STATUS, field(b"\x12", utf8(error)) + bytes((0x18, STATUS_ERROR))))
    return b"".join(parts)


def utf8(text: str) -> bytes:
    """`text` as bytes; a lone surrogate costs a character, never the batch."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def field(tag: bytes, payload: bytes) -> bytes:
    """A field that holds bytes, a text or a message."""
    return b"".join((tag, varint(len(payload)), payload))


def _add_text(parts: list[bytes], key: str, value: str) -> None:
    name, content = _key(key), utf8(value)
    length = len(content)
    if length + len(name) < 0x78:  # every length below fits one byte
        parts += (
            _SHORT_TEXT % (len(name) + length + 4, name, length + 2, length),
            content,
        )
        return
    size = varint(length)
    inner = 1 + len(size) + length  # AnyValue.string_value
    any_size = varint(inner)
    whole = len(name) + 1 + len(any_size) + inner
    parts += (_ATTRIBUTE, varint(whole), name, b"\x12", any_size, b"\x0a", size, content)


@lru_cache(64)
def _constant(key: str, value: str) -> bytes:
    parts: list[bytes] = []
    _add_text(parts, key, value)
    return b"".join(parts)


@lru_cache(256)
def _key(key: str) -> bytes:
    return field(b"\x0a", utf8(key))


def _number_or_list(value: AttributeValue) -> bytes:
    """The content of an `AnyValue`."""
    if isinstance(value, int):
        return b"\x18" + varint(value)
    if isinstance(value, float):
        return _DOUBLE.pack(0x21, value)
    return field(b"\x2a", b"".join(field(b"\x0a", field(b"\x0a", utf8(text))) for text in value))


@lru_cache(64)
def _flag(key: str, value: bool) -> bytes:
    return field(_ATTRIBUTE, _key(key) + field(b"\x12", bytes((0x10, value))))


class Envelope:
    """Wraps encoded spans of one application into a request body.

    >>> span = write_span(trace_id=1, span_id=2, name="chat", start_ns=1, end_ns=9, attributes={})
    >>> body = Envelope(Options(app="shop"), "1.0").wrap([span], dropped={})
    >>> span in body, b"shop" in body
    (True, True)
    """

    content_type = CONTENT_TYPE

    def __init__(self, options: Options, sdk_version: str) -> None:
        self._attributes = {
            semconv.SERVICE_NAME: options.app,
            "telemetry.sdk.name": "rag-monitor",
            "telemetry.sdk.language": "python",
            "telemetry.sdk.version": sdk_version,
        }
        if options.environment:
            self._attributes[semconv.DEPLOYMENT_ENVIRONMENT] = options.environment
        if options.release:
            self._attributes[semconv.SERVICE_VERSION] = options.release
        scope = field(_SCOPE_NAME, b"rag_monitor") + field(_SCOPE_VERSION, utf8(sdk_version))
        self._scope = field(_SCOPE, scope)

    def rejected(self, reply: bytes) -> int:
        """How many spans the server did not take, by its reply."""
        return rejected_spans(reply)

    def wrap(self, spans: Iterable[bytes], dropped: Mapping[str, int]) -> bytes:
        """The request body; `dropped` tells the server what was lost since the last one."""
        attributes = self._attributes
        if dropped:
            attributes = {**attributes, semconv.DROPPED: json.dumps(dict(dropped))}
        resource = b"".join(_resource_attribute(key, value) for key, value in attributes.items())
        parts = [self._scope]
        for span in spans:
            parts += (_SPANS, varint(len(span)), span)
        size = sum(map(len, parts))
        head = field(_RESOURCE, resource) + _SCOPE_SPANS + varint(size)
        return b"".join((_RESOURCE_SPANS, varint(len(head) + size), head, *parts))


def rejected_spans(reply: bytes) -> int:
    """How many spans a 200 refused; 0 when the reply cannot be read.

    Read by hand: protobuf takes 25 ms to import, and an import on the sending thread could be
    caught half-done by a fork.
    """
    try:
        # ExportTraceServiceResponse.partial_success = 1, its rejected_spans = 1
        partial = _last_value(reply, 1)
        rejected = _last_value(partial, 1) if isinstance(partial, bytes) else 0
    except (IndexError, ValueError):
        return 0
    return rejected if isinstance(rejected, int) and rejected < 1 << 63 else 0


def _last_value(message: bytes, number: int) -> int | bytes:
    """The last value of a field: a number, or what a length stands before; 0 where there is none.

    Raises:
        IndexError: The message ends too early.
        ValueError: It is no protobuf message.
    """
    last: int | bytes = 0
    place = 0
    while place < len(message):
        key, place = _varint_at(message, place)
        kind = key & 7
        value: int | bytes
        if kind == 0:
            value, place = _varint_at(message, place)
        elif kind in _LENGTHS:
            length, place = (_LENGTHS[kind], place) if kind != 2 else _varint_at(message, place)
            if place + length > len(message):
                raise IndexError(place)
            value, place = message[place : place + length], place + length
        else:
            raise ValueError(f"wire type {kind}")
        if key >> 3 == number:
            last = value
    return last


def _varint_at(message: bytes, place: int) -> tuple[int, int]:
    """The varint at a place, and the place behind it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number of more than ten bytes")


def _resource_attribute(key: str, value: str) -> bytes:
    return field(
        _RESOURCE_ATTRIBUTE, field(_KEY, utf8(key)) + field(_VALUE, field(_TEXT, utf8(value)))
    )
