"""Living beside OpenTelemetry: ids, the host's spans, and what outgoing calls carry."""

from __future__ import annotations

from collections import OrderedDict
from time import perf_counter_ns
from typing import Any, Final

from opentelemetry import trace as otel_trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from rag_monitor.sdk.ids import new_span_id, new_trace_id

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_RECHECK_NS: Final = 1_000_000_000
_REMEMBERED: Final = 1024


class HostTracing:
    """What the host's own tracing means for ours."""

    def __init__(self) -> None:
        self._provider: Any = None
        self._checked_at = 0
        self._used: OrderedDict[int, None] = OrderedDict()

    def provider(self) -> Any:
        """The host's TracerProvider, or None; looked up at most once a second until found."""
        if self._provider is not None:
            return self._provider
        now = perf_counter_ns()
        if self._checked_at and now - self._checked_at < _RECHECK_NS:
            return None
        self._checked_at = now
        found = otel_trace.get_tracer_provider()
        if not isinstance(found, otel_trace.ProxyTracerProvider | otel_trace.NoOpTracerProvider):
            self._provider = found
        return self._provider

    def ids(self, context: Context) -> tuple[int, int, tuple[int, int] | None]:
        """Trace id, span id and the host span of `context` to link to.

        The host's trace id is reused, sampled or not; a second trace of ours inside the same host
        trace gets an id of its own, because one id is one answered question.
        """
        span_id = new_span_id()
        if not context:  # most hosts have no tracing of their own
            return new_trace_id(), span_id, None
        host = otel_trace.get_current_span(context).get_span_context()
        if not host.is_valid:
            return new_trace_id(), span_id, None
        link = (host.trace_id, host.span_id)
        if host.trace_id in self._used:
            return new_trace_id(), span_id, link
        self._used[host.trace_id] = None
        if len(self._used) > _REMEMBERED:
            self._used.popitem(last=False)
        return host.trace_id, span_id, link


def context_with(context: Context, trace_id: int, span_id: int) -> Context:
    """`context` with our span current, so that outgoing calls carry its ids."""
    span = NonRecordingSpan(SpanContext(trace_id, span_id, False, _SAMPLED))
    return otel_trace.set_span_in_context(span, context)
