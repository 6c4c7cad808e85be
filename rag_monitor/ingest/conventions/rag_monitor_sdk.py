"""What rag-monitor itself writes: one root span, of an answer or of the monitor's own work.

The SDK's root span carries the whole trace as Trace JSON; a span of the monitor's own work asks no
question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from rag_monitor import semconv
from rag_monitor.domain.record import resolve_contexts
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import Timings, Trace, TraceStatus, utc_from_ns
from rag_monitor.ingest.documents import without_repeats
from rag_monitor.ingest.trace_json import decode_trace, parse_stored


def find_root(spans: Sequence[Span]) -> Span | None:
    """The span with the record, or None when our SDK did not write this trace."""
    return next((span for span in spans if semconv.RECORD in span.attributes), None)


def read_root(project: str, root: Span, received_at: datetime) -> Trace:
    """The trace in the record.

    Raises:
        MalformedPayload: The record is not Trace JSON.
    """
    record = parse_stored(str(root.attributes[semconv.RECORD]))
    trace = decode_trace(
        resolve_contexts(record),
        project=project,
        trace_id=root.trace_id,
        received_at=utc_from_ns(root.start_ns) if root.start_ns else received_at,
        app=resource_text(root, semconv.SERVICE_NAME),
        release=resource_text(root, semconv.SERVICE_VERSION),
        environment=resource_text(root, semconv.DEPLOYMENT_ENVIRONMENT)
        or resource_text(root, semconv.DEPLOYMENT_ENVIRONMENT_OLD),
    )
    contexts = trace.contexts
    if contexts is None or not isinstance(record.get("contexts"), Mapping):
        return trace
    once = without_repeats(contexts)  # nobody said that the model got one of them twice
    return trace if once == contexts else replace(trace, contexts=once)


def resource_text(span: Span, name: str) -> str | None:
    """A resource attribute as text; None when it is missing or empty."""
    value = span.resource.get(name)
    return str(value) if value not in (None, "") else None


APP = "rag-monitor"


def find_work(spans: Sequence[Span]) -> Span | None:
    """The span of a monitor's own work, or None when the trace is something else."""
    return next((span for span in spans if span.scope == semconv.SELF_SCOPE), None)


def read_work(project: str, span: Span, received_at: datetime) -> Trace:
    """The work as a trace: what was done stands in the place of the question; nobody judges it."""
    kind = span.attributes.get(semconv.ERROR_TYPE)
    return Trace(
        trace_id=span.trace_id,
        project=project,
        app=resource_text(span, semconv.SERVICE_NAME) or APP,
        question=span.name,
        answer=None,
        started_at=utc_from_ns(span.start_ns) if span.start_ns else received_at,
        release=resource_text(span, semconv.SERVICE_VERSION),
        status=TraceStatus.OK if kind is None else TraceStatus.ERROR,
        error=None if kind is None else str(kind),
        timings=Timings(end_to_end_ms=max(0, span.end_ns - span.start_ns) / 1e6),
        convention=semconv.SELF_SCOPE,
        attributes={
            key.removeprefix("rag_monitor."): value
            for key, value in span.attributes.items()
            if key not in (semconv.COMPLETE, semconv.ERROR_TYPE)
        },
    )
