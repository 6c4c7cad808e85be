"""What other tools say of a trace, as it comes over the wire.

Events of GenAI, rows of Trace JSON, and OpenInference's annotations and evaluations. The last stand
on the span that they are about, or on a carrier that links to it. The spans stay evidence as they
are; only what they say of others is taken down besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from rag_monitor import semconv
from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.trace import utc_from_ns
from rag_monitor.ingest.documents import indexed
from rag_monitor.ingest.spans import read_attributes
from rag_monitor.ingest.values import clean_name, present, real

MAX_EXPLANATION: Final = 10_000
MAX_SESSION_ID: Final = 1_000
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
    """Empty: it is about a whole session."""
    span_id: str | None = None
    session_id: str | None = None
    """Of the session that it is about as a whole; None: it is about a trace or a span."""
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
    text = present(value)
    return None if text is None else clean_text(text)[:limit]


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
    parts = (record.value, record.label, record.explanation, record.error)
    return record if any(part is not None for part in parts) else None


PLURAL: Final = "tions."
"""In the name of every such attribute, and of hardly any other."""
_FORMS: Final = (("annotations.", "annotation."), ("evaluations.", "evaluation."))
_WHOLE_TRACE: Final = "trace."
_SESSION: Final = "session."
_EVALUATOR: Final = "EVALUATOR"
_NO_TARGET: Final = "scores on an EVALUATOR span with several links: link to what they are about"
_OF_SESSION: Final = "scores of a session without its `session.id` beside them"
_EMPTY_SCORE: Final = "scores without a name, or with neither score, label nor explanation"


@dataclass(slots=True)
class Annotations:
    """What the spans of a request say of spans."""

    records: list[EvaluationRecord] = field(default_factory=list)
    unread: dict[str, int] = field(default_factory=dict)
    """Why scores were left out, and how many."""

    def leave(self, reason: str) -> None:
        """Count one score that cannot be kept."""
        self.unread[reason] = self.unread.get(reason, 0) + 1


def read_annotations(span: Any, source: str, into: Annotations) -> None:
    """Take down the scores that a span (an OTLP message with valid ids) carries.

    Args:
        span: The message.
        source: Who sent it.
        into: Where they go.
    """
    attributes = read_attributes(span.attributes)
    _read_events(span, source, into)
    target = _target(span, attributes)
    moment = span.end_time_unix_nano or span.start_time_unix_nano
    at = utc_from_ns(moment) if moment else None
    for scope in ("", _WHOLE_TRACE, _SESSION):
        for fields in _entries(attributes, scope):
            if scope == _SESSION:
                _keep_of_session(fields, attributes, source, at, into)
            elif target is None:
                into.leave(_NO_TARGET)
            else:
                span_id = None if scope == _WHOLE_TRACE else target[1]
                _keep(of_annotation(fields, target[0], span_id, source, at), into)


def _keep_of_session(
    fields: Mapping[str, object],
    attributes: Mapping[str, object],
    source: str,
    at: datetime | None,
    into: Annotations,
) -> None:
    session_id = short_text(attributes.get(semconv.SESSION_ID), MAX_SESSION_ID)
    if session_id is None:
        into.leave(_OF_SESSION)
        return
    record = of_annotation(fields, "", None, source, at)
    _keep(record and replace(record, session_id=session_id), into)


def _read_events(span: Any, source: str, into: Annotations) -> None:
    for event in span.events:
        if event.name != semconv.GEN_AI_EVALUATION_EVENT:
            continue
        moment = event.time_unix_nano
        at = utc_from_ns(moment) if moment else None
        fields = read_attributes(event.attributes)
        _keep(of_event(fields, span.trace_id.hex(), span.span_id.hex(), source, at), into)


def _keep(record: EvaluationRecord | None, into: Annotations) -> None:
    if record is None:
        into.leave(_EMPTY_SCORE)
    else:
        into.records.append(record)


def _target(span: Any, attributes: Mapping[str, object]) -> tuple[str, str] | None:
    """Trace and span that the scores are about; None: nobody can tell.

    A carrier has exactly one link, to its target; its parent says nothing. Spans of another kind
    may have links for reasons of their own: they speak of themselves, as does an evaluator
    without any.
    """
    kind = attributes.get(semconv.OI_SPAN_KIND)
    own = (span.trace_id.hex(), span.span_id.hex())
    if not span.links or (kind and str(kind).upper() != _EVALUATOR):
        return own
    if len(span.links) > 1:
        return None
    link = span.links[0]
    if len(link.trace_id) != 16 or not any(link.trace_id):
        return None
    return link.trace_id.hex(), link.span_id.hex() if any(link.span_id) else ""


def _entries(attributes: Mapping[str, object], scope: str) -> list[dict[str, object]]:
    """The scores under one scope, in both forms; what stands under both counts once."""
    entries: list[dict[str, object]] = []
    for form, inner in _FORMS:
        for fields in indexed(attributes, scope + form):
            plain = {k.removeprefix(inner): v for k, v in fields.items() if k.startswith(inner)}
            if plain not in entries:
                entries.append(plain)
    return entries
