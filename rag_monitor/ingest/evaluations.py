"""What other tools say of a trace, as it comes over the wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from rag_monitor import semconv
from rag_monitor.ingest.text import clean_name, clean_text
from rag_monitor.ingest.values import present, real

MAX_EXPLANATION: Final = 10_000
MAX_PER_ROW: Final = 100
"""Results that are read of one row."""
ROW_SOURCE: Final = "trace-json"
"""Who is named for results of a row that names nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecord:
    """One score: a `gen_ai.evaluation.result` event or an annotation of OpenInference."""

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


def source_of(scope: str, resource: Mapping[str, object]) -> str:
    """Who sent it: the instrumentation scope, else the `service.name`."""
    return clean_name(scope or short_text(resource.get(semconv.SERVICE_NAME)) or "")


def short_text(value: object, limit: int = 200) -> str | None:
    """A text that is there, cut to `limit` characters."""
    found = present(value)
    return None if found is None else clean_text(found)[:limit]


def of_event(
    fields: Mapping[str, object],
    trace_id: str,
    span_id: str | None,
    source: str,
    at: datetime | None,
) -> EvaluationRecord | None:
    """The result in an event's attributes; None where it says nothing.

    What says something is a name, and a value, a label, an explanation or a failure beside it.
    """
    name = short_text(fields.get(semconv.GEN_AI_EVALUATION_NAME))
    if name is None:
        return None
    return _telling(
        EvaluationRecord(
            name=clean_name(name),
            trace_id=trace_id,
            span_id=span_id,
            source=source,
            value=real(fields.get(semconv.GEN_AI_EVALUATION_VALUE)),
            label=short_text(fields.get(semconv.GEN_AI_EVALUATION_LABEL)),
            explanation=short_text(
                fields.get(semconv.GEN_AI_EVALUATION_EXPLANATION), MAX_EXPLANATION
            ),
            error=short_text(fields.get(semconv.ERROR_TYPE)),
            at=at,
        )
    )


def of_annotation(
    fields: Mapping[str, object],
    trace_id: str,
    span_id: str | None,
    source: str,
    at: datetime | None,
) -> EvaluationRecord | None:
    """The result in an annotation's fields (`name`, `score`, …); None where it says nothing.

    Who annotated, and under which identifier, becomes part of the source: a person and a model may
    both judge one thing, and both stand.
    """
    name = short_text(fields.get("name"))
    if name is None:
        return None
    who = (source, short_text(fields.get("annotator_kind")), short_text(fields.get("identifier")))
    return _telling(
        EvaluationRecord(
            name=clean_name(name),
            trace_id=trace_id,
            span_id=span_id,
            source=clean_name(" / ".join(part for part in who if part)),
            value=real(fields.get("score")),
            label=short_text(fields.get("label")),
            explanation=short_text(fields.get("explanation"), MAX_EXPLANATION),
            at=at,
        )
    )


def of_row(reported: object, trace_id: str) -> Iterator[EvaluationRecord]:
    """The results in `reported_scores` of Trace JSON; what says nothing is left out.

    Args:
        reported: Numbers by name, or a list of objects as our own API gives them.
        trace_id: The trace they are about.
    """
    if isinstance(reported, Mapping):
        listed: list[Mapping[str, object]] = [
            {"name": name, "value": value} for name, value in reported.items()
        ]
    else:
        items = reported if isinstance(reported, list) else []
        listed = [item for item in items if isinstance(item, Mapping)]
    for item in listed[:MAX_PER_ROW]:
        name = short_text(item.get("name"))
        if name is None:
            continue
        record = EvaluationRecord(
            name=clean_name(name),
            trace_id=trace_id,
            span_id=short_text(item.get("span_id"), 16),
            source=clean_name(short_text(item.get("source")) or ROW_SOURCE),
            value=real(item.get("value")),
            label=short_text(item.get("label")),
            explanation=short_text(item.get("explanation"), MAX_EXPLANATION),
            error=short_text(item.get("error")),
            at=_moment(item.get("reported_at")),
        )
        if _telling(record) is not None:
            yield record


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def _telling(record: EvaluationRecord) -> EvaluationRecord | None:
    said = (record.value, record.label, record.explanation, record.error)
    return record if any(part is not None for part in said) else None
