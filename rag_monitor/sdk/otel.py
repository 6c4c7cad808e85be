"""Living beside OpenTelemetry: ids, the host's spans, and what outgoing calls carry.

Ids are random as OpenTelemetry's are. Its own generator is two lines behind an import that takes a
fifth of the time that `import rag_monitor` takes.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from contextvars import Token
from random import getrandbits
from time import perf_counter_ns
from typing import Any, Final

from opentelemetry import trace as otel_trace
from opentelemetry.context import Context, detach
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, SpanContext, TraceFlags

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_RECHECK_NS: Final = 1_000_000_000
_REMEMBERED: Final = 1024


def new_ids() -> tuple[int, int]:
    """128 random bits for a trace and 64 for its root span, neither all zero."""
    return getrandbits(128) or new_ids()[0], getrandbits(64) or new_span_id()


def new_span_id() -> int:
    """64 random bits, not all zero."""
    return getrandbits(64) or new_span_id()


class HostTracing:
    """What the host's own tracing means for ours."""

    def __init__(self) -> None:
        self._provider: Any = None
        self._check_at = 0
        self._used: OrderedDict[int, None] = OrderedDict()

    def provider(self) -> Any:
        """The host's TracerProvider, or None; looked up at most once a second until found."""
        if self._provider is not None:
            return self._provider
        now = perf_counter_ns()
        if now < self._check_at:
            return None
        self._check_at = now + _RECHECK_NS
        provider = otel_trace.get_tracer_provider()
        if not isinstance(provider, otel_trace.ProxyTracerProvider | otel_trace.NoOpTracerProvider):
            self._provider = provider
        return self._provider

    def trace_of(self, context: Context, own: int) -> tuple[int, tuple[int, int] | None]:
        """The trace id to use, and the host span of `context` to link to.

        The host's trace id is reused, sampled or not; a second trace of ours inside the same host
        trace gets an id of its own, because one id is one answered question.
        """
        span = otel_trace.get_current_span(context)
        if type(span) is CurrentSpan:  # of a trace that is over, in a context that outlived it
            return own, None
        host = span.get_span_context()
        if not host.is_valid:
            return own, None
        link = (host.trace_id, host.span_id)
        if host.trace_id in self._used:
            return own, link
        self._used[host.trace_id] = None
        if len(self._used) > _REMEMBERED:
            self._used.popitem(last=False)
        return host.trace_id, link


class CurrentSpan(NonRecordingSpan):
    """Our span as OpenTelemetry's context knows it; its `SpanContext` is made when asked for.

    Most requests never ask: they call nobody who would pass the ids on.
    """

    def __init__(self, trace_id: int, span_id: int) -> None:
        self._ids = (trace_id, span_id)

    def get_span_context(self) -> SpanContext:
        """The ids, sampled."""
        return SpanContext(*self._ids, is_remote=False, trace_flags=_SAMPLED)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.get_span_context()!r})"


def detach_here(token: Any) -> None:
    """Undo `attach`, without a word in the host's log where another context runs by now."""
    if isinstance(token, Token):
        with contextlib.suppress(ValueError):
            token.var.reset(token)
    else:  # the host has chosen another kind of context
        detach(token)


def context_with(context: Context, trace_id: int, span_id: int) -> Context:
    """`context` with our span current, so that outgoing calls carry its ids."""
    return Context({**context, _CURRENT: CurrentSpan(trace_id, span_id)})


[_CURRENT] = otel_trace.set_span_in_context(INVALID_SPAN, Context())
"""The key under which a context holds its span."""
