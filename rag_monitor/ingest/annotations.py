"""Scores that come with spans: OpenInference's annotations and evaluations, GenAI's events.

They stand on the span that they are about, or on a carrier that links to it. The spans stay
evidence as they are; only what they say of others is taken down besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rag_monitor import semconv
from rag_monitor.domain.trace import utc_from_ns
from rag_monitor.ingest.documents import indexed
from rag_monitor.ingest.evaluations import EvaluationRecord, of_annotation, of_event
from rag_monitor.ingest.spans import read_attributes

PLURAL: Final = "tions."
"""In the name of every such attribute, and of hardly any other."""
_FORMS: Final = (("annotations.", "annotation."), ("evaluations.", "evaluation."))
_WHOLE_TRACE: Final = "trace."
_SESSION: Final = "session."
_EVALUATOR: Final = "EVALUATOR"
_NO_TARGET: Final = "scores on an EVALUATOR span with several links: link to what they are about"
_OF_SESSION: Final = "scores of a whole session: send them with a trace"
_EMPTY_SCORE: Final = "scores without a name, or with neither score, label nor explanation"


@dataclass(slots=True)
class Annotations:
    """What the spans of a request say of spans."""

    found: list[EvaluationRecord] = field(default_factory=list)
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
                into.leave(_OF_SESSION)
            elif target is None:
                into.leave(_NO_TARGET)
            else:
                span_id = None if scope == _WHOLE_TRACE else target[1]
                _keep(of_annotation(fields, target[0], span_id, source, at), into)


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
        into.found.append(record)


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
    found: list[dict[str, object]] = []
    for form, inner in _FORMS:
        for fields in indexed(attributes, scope + form):
            plain = {k.removeprefix(inner): v for k, v in fields.items() if k.startswith(inner)}
            if plain not in found:
                found.append(plain)
    return found
