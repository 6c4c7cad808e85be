"""OTLP logs: evaluation results of other tools, messages of model calls, and how many others came.

A result that names a session and no trace is about the whole session; one that names neither has
nothing to stand beside and is rejected. Our own, come back through a collector, are left out: they
stand in the store already.

Many instrumentations put the messages of a model call into log records and everything else on the
span. Such a record is stored like an event of its span: in a span that has an id and this event and
nothing else, which `spans.unique_spans` puts together with the span itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from rag_monitor import semconv
from rag_monitor.domain.ports import BlobFormat, SpanBlob
from rag_monitor.domain.trace import utc_from_ns
from rag_monitor.errors import MalformedPayload, PayloadTooLarge
from rag_monitor.ingest.evaluations import (
    MAX_SESSION_ID,
    EvaluationRecord,
    of_event,
    short_text,
    source_of,
)
from rag_monitor.ingest.messages import is_message
from rag_monitor.ingest.otlp_json import (
    FieldError,
    any_value,
    attributes,
    binary_id,
    envelope,
    fill,
    member,
    nanoseconds,
    objects,
    text,
)
from rag_monitor.ingest.spans import read_attributes
from rag_monitor.ingest.values import members

_NO_TRACE: Final = (
    "an evaluation result names no trace and no session: send it with the trace's id, or with "
    "`session.id` if it is about the whole session"
)

_EMPTY_SCORE: Final = (
    "an evaluation result has neither a finite value, a label, an explanation nor an error.type"
)

_Sourced = tuple[Resource, InstrumentationScope, LogRecord]
"""A record and where it comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedLogs:
    """What a log request held."""

    records: int = 0
    evaluations: tuple[EvaluationRecord, ...] = ()
    own: int = 0
    """Our own scores, come back."""
    messages: int = 0
    """Records with messages of a model call."""
    blobs: tuple[SpanBlob, ...] = ()
    """Those records, as evidence of their traces."""
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
        raise MalformedPayload(
            "the body is not an OTLP log request: {reason}", reason=error
        ) from None
    return _decoded(
        [
            (resource.resource, scope.scope, record)
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
            listed = member(scope, "logRecords")
            items = [] if listed is None else listed
            if not isinstance(items, list):
                raise MalformedPayload("`logRecords` must be a list of objects")
            for item in items:
                try:
                    records.append((kept, named, _record(item)))
                except FieldError as error:
                    reasons.append(str(error))
    return _decoded(records, reasons, max_records)


def _decoded(records: list[_Sourced], reasons: list[str], max_records: int) -> DecodedLogs:
    count = len(records) + len(reasons)
    if count > max_records:
        raise PayloadTooLarge(
            "{count} log records in one request; send at most {most}", count=count, most=max_records
        )
    evaluations: list[EvaluationRecord] = []
    events: list[tuple[Resource, InstrumentationScope, LogRecord, Span.Event]] = []
    own = 0
    for resource, scope, record in records:
        fields = read_attributes(record.attributes)
        name = _evaluated(record, fields)
        if name is None:
            event = event_of(record, fields)
            if event is not None:
                events.append((resource, scope, record, event))
            continue
        source = source_of(scope.name, read_attributes(resource.attributes))
        trace_id = _hex(record.trace_id, 16)
        session_id = _session(fields) if trace_id is None else None
        if source == semconv.EVENTS_SCOPE:
            own += 1
        elif trace_id is None and session_id is None:
            reasons.append(_NO_TRACE)
        elif (read := _evaluation(record, fields, trace_id or "", source)) is None:
            reasons.append(_EMPTY_SCORE)
        else:
            evaluations.append(replace(read, session_id=session_id))
    return DecodedLogs(
        records=count,
        evaluations=tuple(evaluations),
        own=own,
        messages=len(events),
        blobs=tuple(blobs_of(events)),
        rejected=len(reasons),
        message="; ".join(dict.fromkeys(reasons[:20])),
    )


def _record(value: object) -> LogRecord:
    if not isinstance(value, dict):
        raise FieldError("log record is not an object")
    record = LogRecord(
        time_unix_nano=nanoseconds(value, "timeUnixNano"),
        observed_time_unix_nano=nanoseconds(value, "observedTimeUnixNano"),
        event_name=text(member(value, "eventName") or "", "eventName"),
        body=any_value(value.get("body")),
        attributes=attributes(value),
    )
    if trace_id := member(value, "traceId"):
        record.trace_id = binary_id(trace_id, "traceId", 16, zero=True)
    if span_id := member(value, "spanId"):
        record.span_id = binary_id(span_id, "spanId", 8, zero=True)
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


def _session(fields: Mapping[str, object]) -> str | None:
    """The session that a record names, by either of OpenTelemetry's names."""
    given = (fields.get(name) for name in (semconv.SESSION_ID, semconv.GEN_AI_CONVERSATION_ID))
    return next((name for value in given if (name := short_text(value, MAX_SESSION_ID))), None)


def _hex(raw: bytes, size: int) -> str | None:
    return raw.hex() if len(raw) == size and any(raw) else None


_BODY_MEMBERS: Final = {
    "input": semconv.GEN_AI_INPUT_MESSAGES,
    "output": semconv.GEN_AI_OUTPUT_MESSAGES,
}
"""How AWS' distribution names what was sent and returned, in one body."""


def event_of(record: LogRecord, fields: Mapping[str, object]) -> Span.Event | None:
    """The record as an event of its span; None: it holds no messages, or names no span.

    Args:
        record: The record.
        fields: Its attributes.
    """
    if not (_is_id(record.trace_id, 16) and _is_id(record.span_id, 8)):
        return None
    name = record.event_name or str(fields.get(semconv.EVENT_NAME) or "")
    written = members(record.body.string_value)
    body = _pairs(written) or {pair.key: pair.value for pair in record.body.kvlist_value.values}
    if name in semconv.GEN_AI_CONTENT_EVENTS:
        held = {pair.key: pair.value for pair in record.attributes}
        whole = name == semconv.GEN_AI_DETAILS_EVENT or not written or is_message(written)
        if body and whole:
            held |= body
        elif record.body.WhichOneof("value") in ("string_value", "array_value"):
            held[semconv.GEN_AI_MESSAGE_CONTENT] = record.body
    elif body and body.keys() <= _BODY_MEMBERS.keys():
        name = semconv.GEN_AI_DETAILS_EVENT
        held = {_BODY_MEMBERS[key]: value for key, value in body.items()}
    else:
        return None
    return Span.Event(
        name=name,
        time_unix_nano=record.time_unix_nano or record.observed_time_unix_nano,
        attributes=[KeyValue(key=key, value=value) for key, value in held.items()],
    )


def _pairs(written: Mapping[str, object]) -> dict[str, AnyValue]:
    """The members of a body that is JSON in a text."""
    return {
        key: AnyValue(string_value=value if isinstance(value, str) else json.dumps(value))
        for key, value in written.items()
    }


def _is_id(raw: bytes, size: int) -> bool:
    return len(raw) == size and any(raw)


def blobs_of(
    sourced: Iterable[tuple[Resource, InstrumentationScope, LogRecord, Span.Event]],
) -> list[SpanBlob]:
    """The events as one blob per trace."""
    traces: dict[bytes, TracesData] = {}
    counts: dict[bytes, int] = {}
    for resource, scope, record, event in sourced:
        data = traces.setdefault(record.trace_id, TracesData())
        counts[record.trace_id] = counts.get(record.trace_id, 0) + 1
        scoped = data.resource_spans.add(resource=resource).scope_spans.add(scope=scope)
        scoped.spans.add(trace_id=record.trace_id, span_id=record.span_id, events=[event])
    return [
        SpanBlob(
            trace_id=trace_id.hex(),
            format=BlobFormat.OTLP,
            payload=data.SerializeToString(),
            spans=counts[trace_id],
        )
        for trace_id, data in traces.items()
    ]
