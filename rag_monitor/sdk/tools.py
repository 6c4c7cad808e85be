"""What the sender works with: redaction, encoding, HTTP and the spool.

Most of what the SDK imports. Who configures or decorates loads it at the start of the application;
where neither happened the sender's thread does, not the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_monitor import __version__
from rag_monitor.redaction.redactor import build_redactor
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.encoding import EncodedTrace, Encoder
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.otel import new_span_id
from rag_monitor.sdk.outcome import Poster
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.sdk.share import HostSpans
from rag_monitor.sdk.step import Step
from rag_monitor.sdk.step_attributes import step_attributes, step_name
from rag_monitor.sdk.steps import GenerationStep, RetrievalStep
from rag_monitor.sdk.transport import Transport
from rag_monitor.sdk.wire import Envelope, write_span

if TYPE_CHECKING:
    from rag_monitor.sdk.spool import Spool


class SpanExport:
    """Turns finished traces into spans for the sender."""

    def __init__(
        self, encoder: Encoder, shared: HostSpans | None, counters: Counters, *, steps: bool
    ) -> None:
        self._encoder = encoder
        self._shared = shared
        self._counters = counters
        self._steps = steps

    def spans(self, live: LiveTrace) -> list[bytes]:
        """Protobuf spans, the root first; empty when the host's provider took the trace."""
        if self._shared is not None and live.otel_span is not None:
            self._shared.close(live)
            self._counters.deliver(1)
            return []
        encoded = self._encoder.describe(live)
        root = self._encoder.root(live, encoded)
        if not self._steps:
            return [root]
        return [root, *(_child(live, encoded, step) for step in live.steps)]


def _child(live: LiveTrace, encoded: EncodedTrace, step: Step) -> bytes:
    """A retrieval, call or generation as a span of its own, for backends that draw trees."""
    offset = live.wall_ns - live.started
    return write_span(
        trace_id=live.trace_id_int,
        span_id=new_span_id(),
        parent_id=live.span_id,
        name=step_name(step, encoded),
        start_ns=offset + step.started,
        end_ns=offset + step.ended,
        attributes=step_attributes(step, encoded),
        error="" if step.failed else None,
        client=isinstance(step, RetrievalStep | GenerationStep),
    )


class Tools:
    """Everything that one sender needs, as its options say."""

    def __init__(
        self, options: Options, counters: Counters, transport: Poster | None = None
    ) -> None:
        self.redactor = build_redactor(options.redact, options.redaction_key)
        encoder = Encoder(options, self.redactor)
        self.shared = HostSpans(encoder) if options.provider == "share" else None
        self.encoder = SpanExport(encoder, self.shared, counters, steps=options.steps)
        self.envelope = Envelope(options, __version__)
        self.transport: Poster = transport or Transport(
            options.endpoint,
            _headers(options),
            compression=options.compression,
            timeout_s=options.timeout_s,
        )
        self.spool = _spool(options, counters)


def _spool(options: Options, counters: Counters) -> Spool | None:
    if not options.spool_dir:
        return None
    try:
        from rag_monitor.sdk.spool import Spool
    except ImportError:  # Windows: no fcntl
        GUARD.warn_once(
            "spool",
            "spool_dir needs POSIX file locks, which this system lacks; traces wait in memory only",
        )
        return None
    return Spool(options.spool_dir, options.max_spool_bytes, counters)


def _headers(options: Options) -> dict[str, str]:
    headers = {"User-Agent": f"rag-monitor-python/{__version__}", **options.headers}
    if options.api_key:
        headers["Authorization"] = f"Bearer {options.api_key}"
    return headers
