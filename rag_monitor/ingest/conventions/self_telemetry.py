"""What a monitor notes of its own work: one root span a piece of work, no question of anybody."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import Timings, Trace, TraceStatus, utc_from_ns
from rag_monitor.ingest.conventions.rag_monitor_sdk import resource_text

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
