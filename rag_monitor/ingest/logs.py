"""OTLP logs: evaluation results that other tools report, and how many other records came.

A result that names no trace has nothing to stand beside and is rejected. Our own, come back through
a collector, are left out: they stand in the store already.

Content events of older GenAI conventions arrive here too; they are counted, not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from rag_monitor import semconv
from rag_monitor.domain.trace import utc_from_ns
from rag_monitor.errors import MalformedPayload, PayloadTooLarge
from rag_monitor.ingest.evaluations import EvaluationRecord, of_event, short_text, source_of
from rag_monitor.ingest.otlp_json import (
    FieldError,
    attributes,
    envelope,
    fill,
    hex_id,
    integer,
    objects,
    text,
)
from rag_monitor.ingest.spans import read_attributes

_NO_TRACE: Final = "an evaluation result names no trace: send it with the trace's id"

_NOTHING_SAID: Final = (
    "an evaluation result has neither a finite value, a label, an explanation nor an error.type"
)

_Sourced = tuple[str, LogRecord]
"""A record and who sent it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedLogs:
    """What a log request held."""

    records: int = 0
    evaluations: tuple[EvaluationRecord, ...] = ()
    own: int = 0
    """Our own scores, come back."""
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
        [
            (source_of(scope.scope.name, read_attributes(resource.resource.attributes)), record)
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ],
        [],
        max_records,
    )


def logs_from_json(value: object, max_records: int) -> DecodedLogs:
    """An OTLP/JSON log request, parsed.

    Raises:
        MalformedPayload: The envelope, a resource or a scope is not shaped like OTLP.
        PayloadTooLarge: More than `max_records` records.
    """
    records: list[_Sourced] = []
    reasons: list[str] = []
    for resource in objects(envelope(value, "resourceLogs"), "resourceLogs"):
        kept = Resource()
        fill(kept, resource.get("resource"), "resource")
        for scope in objects(resource, "scopeLogs"):
            named = InstrumentationScope()
            fill(named, scope.get("scope"), "scope")
            source = source_of(named.name, read_attributes(kept.attributes))
            items = [] if scope.get("logRecords") is None else scope["logRecords"]
            if not isinstance(items, list):
                raise MalformedPayload("`logRecords` must be a list of objects")
            for item in items:
                try:
                    records.append((source, _record(item)))
                except FieldError as error:
                    reasons.append(str(error))
    return _decoded(records, reasons, max_records)


def _decoded(records: list[_Sourced], reasons: list[str], max_records: int) -> DecodedLogs:
    count = len(records) + len(reasons)
    if count > max_records:
        raise PayloadTooLarge(f"{count} log records in one request; send at most {max_records}")
    found: list[EvaluationRecord] = []
    own = 0
    for source, record in records:
        fields = read_attributes(record.attributes)
        name = _evaluated(record, fields)
        if name is None:
            continue
        trace_id = _hex(record.trace_id, 16)
        if source == semconv.EVENTS_SCOPE:
            own += 1
        elif trace_id is None:
            reasons.append(_NO_TRACE)
        elif (read := _evaluation(record, fields, trace_id, source)) is None:
            reasons.append(_NOTHING_SAID)
        else:
            found.append(read)
    return DecodedLogs(
        records=count,
        evaluations=tuple(found),
        own=own,
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


def _evaluated(record: LogRecord, fields: Mapping[str, object]) -> str | None:
    """The metric that a record is about; None: it is no evaluation result."""
    event = record.event_name or fields.get("event.name")
    if event != semconv.GEN_AI_EVALUATION_EVENT:
        return None
    return short_text(fields.get(semconv.GEN_AI_EVALUATION_NAME))


def _evaluation(
    record: LogRecord, fields: Mapping[str, object], trace_id: str, source: str
) -> EvaluationRecord | None:
    """The result; None where it says nothing."""
    moment = record.time_unix_nano or record.observed_time_unix_nano
    at = utc_from_ns(moment) if moment else None
    return of_event(fields, trace_id, _hex(record.span_id, 8), source, at)


def _hex(raw: bytes, size: int) -> str | None:
    return raw.hex() if len(raw) == size and any(raw) else None
