"""What senders are answered: OTLP responses in the encoding of the request, and row reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.errors import (
    MalformedPayload,
    NotIngesting,
    PayloadTooLarge,
    QueueFull,
    RagMonitorError,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UnsupportedMediaType,
)
from rag_monitor.protobuf import length_delimited, rpc_status, varint_field

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"

_STATUS: Final[Mapping[type[RagMonitorError], tuple[int, int, str]]] = {
    MalformedPayload: (400, 3, "malformed"),
    PayloadTooLarge: (413, 8, "too_large"),
    UnsupportedMediaType: (415, 3, "media_type"),
    QueueFull: (503, 14, "queue_full"),
    StoreUnavailable: (503, 14, "store_unavailable"),
}
"""HTTP status, google.rpc.Code and the word we count under, by what went wrong."""
_PASSING: Final = (503, 14, "internal")
"""Anything else is ours to mend, and the sender may try again. Never 500: exporters drop on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpReply:
    """A complete OTLP/HTTP response."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowError:
    """A row of Trace JSON that was not accepted."""

    row: int
    """0-based place in the body."""
    id: str | None
    message: str
    field: str = ""
    """The field at fault, where it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonReply:
    """What became of Trace JSON that was posted."""

    accepted: int
    trace_ids: tuple[str, ...]
    """Of the accepted rows, in order."""
    unknown_fields: tuple[str, ...] = ()
    """Fields that were ignored, each once."""
    errors: tuple[RowError, ...] = ()
    """One per row that was not accepted."""


def encoding_of(content_type: str) -> str | None:
    """`PROTOBUF` or `JSON` by the media type (clients append parameters); None: neither."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in (PROTOBUF, "application/protobuf"):
        return PROTOBUF
    return JSON if kind == JSON else None


def success(
    encoding: str, *, rejected: int = 0, message: str = "", noun: str = "rejectedSpans"
) -> OtlpReply:
    """200; with a partial success where items were rejected or there is something to say."""
    if encoding == JSON:
        partial: dict[str, str] = {}
        if rejected:
            partial[noun] = str(rejected)
        if message:
            partial["errorMessage"] = message
        body = json.dumps({"partialSuccess": partial} if partial else {}).encode()
        return OtlpReply(status=200, content_type=JSON, body=body)
    inner = varint_field(1, rejected) if rejected else b""
    if message:
        inner += length_delimited(2, message.encode("utf-8", "replace"))
    body = length_delimited(1, inner) if inner else b""
    return OtlpReply(status=200, content_type=PROTOBUF, body=body)


def refusal_reason(error: Exception) -> str:
    """The word a refusal is counted under; from a fixed list."""
    return _status_of(error)[2]


def refusal(error: Exception, encoding: str | None, retry_after_s: int) -> OtlpReply:
    """The answer for a request that was not taken: a `google.rpc.Status`."""
    status, code, _ = _status_of(error)
    message = _message(error)
    headers = {"Retry-After": str(retry_after_s)} if status == 503 else {}
    if encoding == PROTOBUF:
        body = rpc_status(code, message)
    else:
        body = json.dumps({"code": code, "message": message}).encode()
    return OtlpReply(status=status, content_type=encoding or JSON, body=body, headers=headers)


def _message(error: Exception) -> str:
    """For senders: what the store says names its file or host, which is for the log only."""
    if isinstance(error, StoreFull):
        return "the disk of the database is full; nothing was stored, send it again later"
    if isinstance(error, StoreError) and not isinstance(error, NotIngesting):
        return "the database does not answer right now; nothing was stored, send it again"
    return str(error) if isinstance(error, RagMonitorError) else "not taken; try again"


def _status_of(error: Exception) -> tuple[int, int, str]:
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return status
    return _PASSING
