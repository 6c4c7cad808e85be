"""Requests in, blobs to the sink, and the answer each kind of sender expects.

The order of work is: size, decompression under a cap, envelope, blobs, commit, answer. An answer of
200 means that what it accepts is durable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock, SystemClock
from rag_monitor.domain.ports import BlobFormat, IngestBatch, SpanBlob, TraceSink
from rag_monitor.errors import (
    MalformedPayload,
    PayloadTooLarge,
    QueueFull,
    RagMonitorError,
    StoreUnavailable,
    UnsupportedMediaType,
)
from rag_monitor.ingest.envelope import Decoded, split_request
from rag_monitor.ingest.inflate import inflate
from rag_monitor.ingest.limits import IngestOptions
from rag_monitor.ingest.otlp_json import parse_json, to_protobuf
from rag_monitor.ingest.trace_json import decode_trace, parse_row, unknown_fields

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonReply:
    """What became of Trace JSON that was posted."""

    accepted: int
    trace_ids: tuple[str, ...]
    """Of the accepted rows, in order."""
    unknown_fields: tuple[str, ...] = ()
    """Fields that were ignored, each once."""
    errors: tuple[RowError, ...] = ()


class Receiver:
    """Takes requests in.

    Args:
        sink: Where blobs become durable.
        options: Limits.
        clock: Tells when a request arrived.
    """

    def __init__(
        self, sink: TraceSink, options: IngestOptions | None = None, clock: Clock | None = None
    ) -> None:
        self._sink = sink
        self._options = options or IngestOptions()
        self._clock = clock or SystemClock()

    async def receive_traces(
        self, body: bytes, content_type: str, content_encoding: str | None, project: str
    ) -> OtlpReply:
        """An OTLP trace request in either encoding. Never raises for what a sender can do wrong."""
        encoding = _encoding(content_type)
        try:
            decoded = self._decode(body, content_type, content_encoding)
            if decoded.blobs:
                await self._write(project, decoded.blobs)
        except RagMonitorError as error:
            return self._refuse(error, encoding)
        kept = decoded.spans - decoded.rejected
        telemetry.INGESTED_SPANS.labels(encoding=encoding.rsplit("/", 1)[-1]).inc(kept)
        if decoded.rejected:
            telemetry.dropped("ingest", "invalid_span", decoded.rejected)
        reply = ExportTraceServiceResponse()
        if decoded.rejected:
            reply.partial_success.rejected_spans = decoded.rejected
            reply.partial_success.error_message = decoded.message
        return _answer(200, reply, encoding)

    async def receive_logs(
        self, body: bytes, content_type: str, content_encoding: str | None, project: str
    ) -> OtlpReply:
        """An OTLP log request: read, counted, not stored (no log record makes a trace by itself)."""
        del project
        encoding = _encoding(content_type)
        try:
            content = self._content(body, content_type, content_encoding)
            count = _count_logs(content, encoding, self._options)
        except RagMonitorError as error:
            return self._refuse(error, encoding)
        if count:
            telemetry.dropped("ingest", "log_record", count)
        return _answer(200, ExportLogsServiceResponse(), encoding)

    async def receive_json(self, body: bytes, project: str) -> JsonReply:
        """One Trace JSON object, a list of them, or JSON lines.

        A bad row is reported and does not spoil its neighbours.

        Raises:
            MalformedPayload: The body as a whole is not JSON, or no row could be accepted.
            PayloadTooLarge: The body or the number of rows exceeds the limits.
            QueueFull: Too much is waiting to be written.
            StoreUnavailable: The database does not answer.
        """
        rows = _rows(inflate(body, None, self._options.max_bytes), self._options)
        now = self._clock.now()
        blobs: list[SpanBlob] = []
        errors: list[RowError] = []
        unknown: set[str] = set()
        for place, row in enumerate(rows):
            try:
                content = row if isinstance(row, Mapping) else parse_row(row)
                trace = decode_trace(content, project=project, received_at=now)
            except MalformedPayload as error:
                errors.append(RowError(row=place, id=_id_of(row), message=str(error)))
                continue
            unknown |= unknown_fields(content)
            blobs.append(_json_blob(trace.trace_id, content))
        if not blobs and errors:
            raise MalformedPayload("; ".join(_spell(error) for error in errors[:3]))
        if blobs:
            await self._write(project, blobs)
        if errors:
            telemetry.dropped("ingest", "invalid_row", len(errors))
        return JsonReply(
            accepted=len(blobs),
            trace_ids=tuple(blob.trace_id for blob in blobs),
            unknown_fields=tuple(sorted(unknown)),
            errors=tuple(errors),
        )

    async def _write(self, project: str, blobs: list[SpanBlob]) -> None:
        batch = IngestBatch(project=project, received_at=self._clock.now(), blobs=tuple(blobs))
        await self._sink.write(batch)

    def _content(self, body: bytes, content_type: str, content_encoding: str | None) -> bytes:
        kind = content_type.lower()
        if "protobuf" not in kind and "json" not in kind:
            raise UnsupportedMediaType(
                f"content type {content_type!r} is not read; send {PROTOBUF} or {JSON}"
            )
        return inflate(body, content_encoding, self._options.max_bytes)

    def _decode(self, body: bytes, content_type: str, content_encoding: str | None) -> Decoded:
        content = self._content(body, content_type, content_encoding)
        if _encoding(content_type) == PROTOBUF:
            return split_request(content, self._options.max_spans)
        value = parse_json(content or b"{}", self._options.max_depth)
        request, reasons = to_protobuf(value, self._options.max_spans)
        decoded = split_request(request, self._options.max_spans)
        decoded.spans += len(reasons)
        for reason in reasons:
            decoded.reject(reason)
        return decoded

    def _refuse(self, error: RagMonitorError, encoding: str) -> OtlpReply:
        status, code = _STATUS.get(type(error), (400, 3))
        reason = _REASONS.get(type(error), "malformed")
        telemetry.dropped("ingest", reason)
        headers = {"Retry-After": str(self._options.retry_after_s)} if status == 503 else {}
        return _answer(status, Status(code=code, message=str(error)), encoding, headers)


_STATUS: Final[Mapping[type[RagMonitorError], tuple[int, int]]] = {
    MalformedPayload: (400, 3),
    PayloadTooLarge: (413, 8),
    UnsupportedMediaType: (415, 3),
    QueueFull: (503, 14),
    StoreUnavailable: (503, 14),
}
"""HTTP status and google.rpc.Code by what went wrong."""

_REASONS: Final[Mapping[type[RagMonitorError], str]] = {
    PayloadTooLarge: "too_large",
    UnsupportedMediaType: "media_type",
    QueueFull: "queue_full",
    StoreUnavailable: "store_unavailable",
}


def _encoding(content_type: str) -> str:
    return JSON if "json" in content_type.lower() else PROTOBUF


def _answer(
    status: int, message: Any, encoding: str, headers: Mapping[str, str] | None = None
) -> OtlpReply:
    if encoding == PROTOBUF:
        body = message.SerializeToString()
    else:
        from google.protobuf.json_format import MessageToJson

        body = MessageToJson(message, indent=None).encode()
    return OtlpReply(status=status, content_type=encoding, body=body, headers=headers or {})


def _count_logs(content: bytes, encoding: str, options: IngestOptions) -> int:
    if encoding == JSON:
        value = parse_json(content or b"{}", options.max_depth)
        if not isinstance(value, dict):
            raise MalformedPayload("an OTLP log request is a JSON object with `resourceLogs`")
        return len(value.get("resourceLogs") or [])
    try:
        request = ExportLogsServiceRequest.FromString(content)
    except DecodeError as error:
        raise MalformedPayload(f"the body is not an OTLP log request: {error}") from None
    return sum(len(s.log_records) for r in request.resource_logs for s in r.scope_logs)


def _rows(content: bytes, options: IngestOptions) -> list[Any]:
    """The rows of a JSON body: a value, a list of values, or lines of values (still text)."""
    try:
        value = parse_json(content, options.max_depth)
    except MalformedPayload:
        lines = [line for line in content.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        rows: list[Any] = list(lines)
    else:
        rows = value if isinstance(value, list) else [value]
    if len(rows) > options.max_spans:
        raise PayloadTooLarge(f"{len(rows)} rows in one request; send at most {options.max_spans}")
    if not rows:
        raise MalformedPayload("the body holds no trace")
    return [row if isinstance(row, Mapping | bytes) else json.dumps(row) for row in rows]


def _json_blob(trace_id: str, row: Mapping[str, Any]) -> SpanBlob:
    payload = json.dumps(row, ensure_ascii=True, sort_keys=True, allow_nan=True).encode()
    return SpanBlob(
        trace_id=trace_id,
        format=BlobFormat.TRACE_JSON,
        payload=payload,
        complete=True,
        has_root=True,
    )


def _id_of(row: Any) -> str | None:
    return str(row["id"]) if isinstance(row, Mapping) and "id" in row else None


def _spell(error: RowError) -> str:
    return f"row {error.row}: {error.message}"
