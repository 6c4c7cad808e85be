"""OTLP bytes: one span per trace, and the request that carries many.

Spans are serialised one by one, so that a batch can be measured, split on 413 and kept on disk
without encoding anything twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from rag_monitor import semconv
from rag_monitor.protobuf import varint
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.wire import field, utf8

CONTENT_TYPE: Final = "application/x-protobuf"
_NAME = _KEY = _TEXT = b"\x0a"  # InstrumentationScope.name, KeyValue.key, AnyValue.string_value = 1
_VERSION = _VALUE = b"\x12"  # InstrumentationScope.version, KeyValue.value = 2
_ATTRIBUTE = b"\x0a"  # Resource.attributes = 1
_RESOURCE_SPANS = b"\x0a"  # ExportTraceServiceRequest.resource_spans = 1
_RESOURCE = b"\x0a"  # ResourceSpans.resource = 1
_SCOPE_SPANS = b"\x12"  # ResourceSpans.scope_spans = 2
_SCOPE = b"\x0a"  # ScopeSpans.scope = 1
_SPAN = b"\x12"  # ScopeSpans.spans = 2
_LENGTHS = {1: 8, 2: 0, 5: 4}  # bytes of a value by its wire type; 2 states its own


class Envelope:
    """Wraps encoded spans of one application into a request body."""

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
        scope = field(_NAME, b"rag_monitor") + field(_VERSION, utf8(sdk_version))
        self._scope = field(_SCOPE, scope)

    def rejected(self, reply: bytes) -> int:
        """How many spans the server did not take, by its reply."""
        return rejected_spans(reply)

    def wrap(self, spans: Iterable[bytes], dropped: Mapping[str, int]) -> bytes:
        """The request body; `dropped` tells the server what was lost since the last one."""
        attributes = self._attributes
        if dropped:
            attributes = {**attributes, semconv.DROPPED: json.dumps(dict(dropped))}
        resource = b"".join(_attribute(key, value) for key, value in attributes.items())
        parts = [self._scope]
        for span in spans:
            parts += (_SPAN, varint(len(span)), span)
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
        partial = _field(reply, 1)
        rejected = _field(partial, 1) if isinstance(partial, bytes) else 0
    except (IndexError, ValueError):
        return 0
    return rejected if isinstance(rejected, int) and rejected < 1 << 63 else 0


def _field(message: bytes, wanted: int) -> int | bytes:
    """The last value of a field: a number, or what a length stands before; 0 where there is none.

    Raises:
        IndexError: The message ends too early.
        ValueError: It is no protobuf message.
    """
    found: int | bytes = 0
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        kind = key & 7
        value: int | bytes
        if kind == 0:
            value, place = _number(message, place)
        elif kind in _LENGTHS:
            length, place = (_LENGTHS[kind], place) if kind != 2 else _number(message, place)
            if place + length > len(message):
                raise IndexError(place)
            value, place = message[place : place + length], place + length
        else:
            raise ValueError(f"wire type {kind}")
        if key >> 3 == wanted:
            found = value
    return found


def _number(message: bytes, place: int) -> tuple[int, int]:
    """The varint at a place, and the place behind it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number of more than ten bytes")


def _attribute(key: str, value: str) -> bytes:
    return field(_ATTRIBUTE, field(_KEY, utf8(key)) + field(_VALUE, field(_TEXT, utf8(value))))
