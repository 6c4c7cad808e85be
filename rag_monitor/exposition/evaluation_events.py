"""Scores as `gen_ai.evaluation.result` log events.

Names and shape are those of the OpenTelemetry semantic conventions for generative AI. No text of a
trace is sent: an event holds numbers, labels and names only.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber

from rag_monitor import semconv
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.exposition.score_shape import (
    by_app,
    failure,
    label,
    nanoseconds,
    number,
    resource,
    text,
)

JUDGE: Final = "rag_monitor.judge"


def encode(scores: Sequence[PlacedScore], now: datetime) -> ExportLogsServiceRequest:
    """One log event per score, with the app as `service.name`.

    The event carries the trace's id; which span of it was judged is not known any more, so the span
    id stays empty.

    Args:
        scores: Any order; grouped by project and app.
        now: When the events are sent, aware.
    """
    return ExportLogsServiceRequest(
        resource_logs=[
            ResourceLogs(
                resource=resource(project, app),
                scope_logs=[
                    ScopeLogs(
                        scope=InstrumentationScope(name=semconv.EVENTS_SCOPE),
                        log_records=[_event(placed, now) for placed in members],
                    )
                ],
            )
            for (project, app), members in by_app(scores).items()
        ]
    )


def _event(placed: PlacedScore, now: datetime) -> LogRecord:
    score = placed.score
    return LogRecord(
        time_unix_nano=nanoseconds(score.created_at or now),
        observed_time_unix_nano=nanoseconds(now),
        severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
        event_name=semconv.GEN_AI_EVALUATION_EVENT,
        trace_id=bytes.fromhex(placed.trace_id),
        attributes=_attributes(score),
    )


def _attributes(score: Score) -> list[KeyValue]:
    attributes = [text(semconv.GEN_AI_EVALUATION_NAME, score.metric)]
    if score.judge is not None:
        attributes.append(text(JUDGE, str(score.judge)))
    if (value := number(score)) is not None:
        measured = AnyValue(double_value=value)
        attributes.append(KeyValue(key=semconv.GEN_AI_EVALUATION_VALUE, value=measured))
    if score.status is ScoreStatus.FAILED:
        attributes.append(text(semconv.ERROR_TYPE, failure(score)))
    elif words := label(score):
        attributes.append(text(semconv.GEN_AI_EVALUATION_LABEL, words))
    return attributes
