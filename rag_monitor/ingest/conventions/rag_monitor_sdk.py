"""What our own SDK writes: one root span that carries the whole trace as Trace JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from rag_monitor import semconv
from rag_monitor.domain.record import resolve_contexts
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import Trace, utc_from_ns
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
