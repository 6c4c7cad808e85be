"""Scores as OpenInference annotations: on a span of the judged trace, or as Phoenix takes them.

OpenInference puts feedback that comes after the fact on a carrier span of kind EVALUATOR that links
to the root of the trace it is about. Phoenix stores feedback by its own interface,
`POST /v1/trace_annotations`. Either way numbers, labels and names are sent, no text of a trace.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from rag_monitor import semconv
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.exposition.score_shape import (
    by_app,
    failure,
    label,
    nanoseconds,
    number,
    resource,
    storable,
    text,
)

Key = tuple[str, str]
"""Project and trace id."""
SPAN_NAME: Final = "rag-monitor evaluation"
NOBODY: Final = "rag-monitor"
"""Who annotates when a score needs no judge."""


def annotation(score: Score) -> dict[str, Any]:
    """One score under OpenInference's field names; missing fields are left out.

    Every annotation has a score or a label, as the convention demands.
    """
    judge = str(score.judge) if score.judge is not None else NOBODY
    value = number(score)
    fields: dict[str, Any] = {
        "name": score.metric,
        "score": value,
        "label": label(score) or (score.status.value if value is None else None),
        "explanation": failure(score) if score.status is ScoreStatus.FAILED else None,
        "annotator_kind": _kind(score),
        "identifier": storable(judge),
    }
    return {key: value for key, value in fields.items() if value is not None}


def encode_spans(
    scores: Sequence[PlacedScore], roots: Mapping[Key, str], now: datetime
) -> ExportTraceServiceRequest:
    """One carrier span per trace, with all its scores as trace annotations.

    The same scores give the same span id, so that what is sent twice is stored once. Traces without
    a known root are left out: their carrier would be a trace of its own to whoever gets it.

    Args:
        scores: Any order.
        roots: Span id of the root by trace; the carrier becomes its child and links to it.
        now: When they are sent, aware.
    """
    placeable = [placed for placed in scores if (placed.project, placed.trace_id) in roots]
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=resource(project, app),
                scope_spans=[
                    ScopeSpans(
                        scope=InstrumentationScope(name=semconv.EVALUATION_SCOPE),
                        spans=[
                            _carrier(trace_id, own, roots[project, trace_id], now)
                            for trace_id, own in _by_trace(members).items()
                        ],
                    )
                ],
            )
            for (project, app), members in by_app(placeable).items()
        ]
    )


def encode_phoenix(scores: Sequence[PlacedScore]) -> bytes:
    """The body of Phoenix's `POST /v1/trace_annotations`.

    A name and identifier that a trace has already are written over, so repeating does no harm.
    """
    return json.dumps({"data": [_phoenix(placed) for placed in scores]}).encode()


def _phoenix(placed: PlacedScore) -> dict[str, Any]:
    fields = annotation(placed.score)
    result = {key: fields.pop(key) for key in ("score", "label", "explanation") if key in fields}
    return {
        **fields,
        "trace_id": placed.trace_id,
        "result": result,
        "metadata": {"project": storable(placed.project), "app": storable(placed.app)},
    }


def _by_trace(scores: Sequence[PlacedScore]) -> dict[str, list[Score]]:
    groups: dict[str, list[Score]] = defaultdict(list)
    for placed in scores:
        groups[placed.trace_id].append(placed.score)
    return groups


def _carrier(trace_id: str, scores: Sequence[Score], root: str, now: datetime) -> Span:
    made = [score.created_at or now for score in scores]
    attributes = [text(semconv.OI_SPAN_KIND, "EVALUATOR")]
    for index, score in enumerate(scores):
        for name, value in annotation(score).items():
            key = f"{semconv.OI_TRACE_ANNOTATIONS_PREFIX}{index}.annotation.{name}"
            attributes.append(_attribute(key, value))
    span = Span(
        trace_id=bytes.fromhex(trace_id),
        span_id=_span_id(trace_id, scores),
        parent_span_id=bytes.fromhex(root),
        name=SPAN_NAME,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=nanoseconds(min(made)),
        end_time_unix_nano=nanoseconds(max(made)),
        attributes=attributes,
    )
    span.links.add(trace_id=span.trace_id, span_id=span.parent_span_id)
    return span


def _attribute(key: str, value: str | float) -> KeyValue:
    if isinstance(value, float):
        return KeyValue(key=key, value=AnyValue(double_value=value))
    return text(key, value)


def _span_id(trace_id: str, scores: Sequence[Score]) -> bytes:
    parts = [trace_id, *sorted(f"{s.metric} {s.judge} {s.created_at}" for s in scores)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:8]


def _kind(score: Score) -> str:
    """`CODE` for arithmetic and for the embedded judges, which generate no text; else `LLM`."""
    if score.judge is None or is_embedded(score.judge.name):
        return "CODE"
    return "LLM"
