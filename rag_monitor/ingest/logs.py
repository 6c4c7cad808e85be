"""OTLP logs: evaluation results that other tools report, and how many other records came.

Content events of older GenAI conventions arrive here too; they are counted, not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from rag_monitor import semconv
from rag_monitor.domain.trace import utc_from_ns
from rag_monitor.errors import MalformedPayload, PayloadTooLarge
from rag_monitor.ingest.otlp_json import (
    FieldError,
    attributes,
    envelope,
    hex_id,
    integer,
    objects,
    text,
)
from rag_monitor.ingest.spans import read_attributes
from rag_monitor.ingest.values import present, real


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecord:
    """One `gen_ai.evaluation.result` event."""

    name: str
    """The metric, as the sender calls it."""
    trace_id: str | None = None
    span_id: str | None = None
    response_id: str | None = None
    """Names the model's reply where the record has no trace."""
    value: float | None = None
    label: str | None = None
    explanation: str | None = None
    error: str | None = None
    """The evaluation itself failed; there is no value then."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedLogs:
    """What a log request held."""

    records: int = 0
    evaluations: tuple[EvaluationRecord, ...] = ()
    rejected: int = 0
    message: str = ""
    """Why records were rejected; empty when none was."""


def logs_from_protobuf(body: bytes, max_records: int) -> DecodedLogs:
    """A protobuf `ExportLogsServiceRequest`.

    Raises:
        MalformedPayload: The body is not such a message.
        PayloadTooLarge: More than `max_records` records.
    """
    try:
        request = LogsData.FromString(body)
    except DecodeError as error:
        raise MalformedPayload(f"the body is not an OTLP log request: {error}") from None
    return _decoded(
        [r for x in request.resource_logs for s in x.scope_logs for r in s.log_records],
        [],
        max_records,
    )


def logs_from_json(value: object, max_records: int) -> DecodedLogs:
    """An OTLP/JSON log request, parsed.

    Raises:
        MalformedPayload: The envelope, a resource or a scope is not shaped like OTLP.
        PayloadTooLarge: More than `max_records` records.
    """
    records: list[LogRecord] = []
    reasons: list[str] = []
    for resource in objects(envelope(value, "resourceLogs"), "resourceLogs"):
        for scope in objects(resource, "scopeLogs"):
            items = [] if scope.get("logRecords") is None else scope["logRecords"]
            if not isinstance(items, list):
                raise MalformedPayload("`logRecords` must be a list of objects")
            for item in items:
                try:
                    records.append(_record(item))
                except FieldError as error:
                    reasons.append(str(error))
    return _decoded(records, reasons, max_records)


def _decoded(records: list[LogRecord], reasons: list[str], max_records: int) -> DecodedLogs:
    count = len(records) + len(reasons)
    if count > max_records:
        raise PayloadTooLarge(f"{count} log records in one request; send at most {max_records}")
    found = [_evaluation(r) for r in records]
    return DecodedLogs(
        records=count,
        evaluations=tuple(item for item in found if item is not None),
        rejected=len(reasons),
        message="; ".join(dict.fromkeys(reasons[:20])),
    )


def _record(value: object) -> LogRecord:
    if not isinstance(value, dict):
        raise FieldError("log record is not an object")
    record = LogRecord(
        time_unix_nano=integer(value.get("timeUnixNano", 0), "timeUnixNano", 0, 2**64 - 1),
        observed_time_unix_nano=integer(
            value.get("observedTimeUnixNano", 0), "observedTimeUnixNano", 0, 2**64 - 1
        ),
        event_name=text(value.get("eventName") or "", "eventName"),
        attributes=attributes(value),
    )
    if value.get("traceId"):
        record.trace_id = hex_id(value["traceId"], "traceId", 16, zero=True)
    if value.get("spanId"):
        record.span_id = hex_id(value["spanId"], "spanId", 8, zero=True)
    return record


def _evaluation(record: LogRecord) -> EvaluationRecord | None:
    fields = read_attributes(record.attributes)
    event = record.event_name or fields.get("event.name")
    name = present(fields.get(semconv.GEN_AI_EVALUATION_NAME))
    if event != semconv.GEN_AI_EVALUATION_EVENT or name is None:
        return None
    moment = record.time_unix_nano or record.observed_time_unix_nano
    return EvaluationRecord(
        name=name,
        trace_id=_hex(record.trace_id, 16),
        span_id=_hex(record.span_id, 8),
        response_id=_text(fields, semconv.GEN_AI_RESPONSE_ID),
        value=real(fields.get(semconv.GEN_AI_EVALUATION_VALUE)),
        label=_text(fields, semconv.GEN_AI_EVALUATION_LABEL),
        explanation=_text(fields, semconv.GEN_AI_EVALUATION_EXPLANATION),
        error=_text(fields, semconv.ERROR_TYPE),
        at=utc_from_ns(moment) if moment else None,
    )


def _text(fields: Mapping[str, object], name: str) -> str | None:
    return present(fields.get(name))


def _hex(raw: bytes, size: int) -> str | None:
    return raw.hex() if len(raw) == size and any(raw) else None
