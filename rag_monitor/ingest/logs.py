"""OTLP logs: evaluation results that other tools report, and how many other records came.

A result that names no trace has nothing to stand beside and is rejected. Our own, come back through
a collector, are left out: they stand in the store already.

Content events of older GenAI conventions arrive here too; they are counted, not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from rag_monitor import semconv
from rag_monitor.domain.trace import utc_from_ns
from rag_monitor.errors import MalformedPayload, PayloadTooLarge
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
from rag_monitor.ingest.text import clean_name, clean_text
from rag_monitor.ingest.values import present, real

_NO_TRACE: Final = "an evaluation result names no trace: send it with the trace's id"

_NOTHING_SAID: Final = "an evaluation result has neither a finite value, a label nor an error.type"
_MAX_EXPLANATION: Final = 10_000

_Sourced = tuple[str, LogRecord]
"""A record and who sent it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecord:
    """One `gen_ai.evaluation.result` event."""

    name: str
    """The metric, as the sender calls it."""
    trace_id: str
    span_id: str | None = None
    source: str = ""
    """The instrumentation scope, else the `service.name` of the resource; empty: neither."""
    value: float | None = None
    label: str | None = None
    explanation: str | None = None
    """Cut to 10,000 characters."""
    error: str | None = None
    """The evaluation itself failed; there is no value then."""
    at: datetime | None = None


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
            (_source(scope.scope.name, resource.resource.attributes), record)
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
            source = _source(named.name, kept.attributes)
            items = [] if scope.get("logRecords") is None else scope["logRecords"]
            if not isinstance(items, list):
                raise MalformedPayload("`logRecords` must be a list of objects")
            for item in items:
                try:
                    records.append((source, _record(item)))
                except FieldError as error:
                    reasons.append(str(error))
    return _decoded(records, reasons, max_records)


def _source(scope: str, resource: Iterable[KeyValue]) -> str:
    return clean_name(scope or _text(read_attributes(resource), semconv.SERVICE_NAME) or "")


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
        elif (read := _evaluation(record, fields, name, trace_id, source)) is None:
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
    return _text(fields, semconv.GEN_AI_EVALUATION_NAME)


def _evaluation(
    record: LogRecord, fields: Mapping[str, object], name: str, trace_id: str, source: str
) -> EvaluationRecord | None:
    """The result; None where it holds neither a value, nor a label, nor a failure."""
    moment = record.time_unix_nano or record.observed_time_unix_nano
    found = EvaluationRecord(
        name=clean_name(name),
        trace_id=trace_id,
        span_id=_hex(record.span_id, 8),
        source=source,
        value=real(fields.get(semconv.GEN_AI_EVALUATION_VALUE)),
        label=_text(fields, semconv.GEN_AI_EVALUATION_LABEL),
        explanation=_text(fields, semconv.GEN_AI_EVALUATION_EXPLANATION, _MAX_EXPLANATION),
        error=_text(fields, semconv.ERROR_TYPE),
        at=utc_from_ns(moment) if moment else None,
    )
    said = found.value is not None or found.label is not None or found.error is not None
    return found if said else None


def _text(fields: Mapping[str, object], name: str, limit: int = 200) -> str | None:
    found = present(fields.get(name))
    return None if found is None else clean_text(found)[:limit]


def _hex(raw: bytes, size: int) -> str | None:
    return raw.hex() if len(raw) == size and any(raw) else None
