"""One configuration of the SDK at work: queue, sender, transport and what they encode with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from opentelemetry.context import get_current

from rag_monitor import __version__
from rag_monitor.redaction.redactor import build_redactor
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.encoding import Encoder
from rag_monitor.sdk.envelope import Envelope
from rag_monitor.sdk.export import SpanExport
from rag_monitor.sdk.feedback import FeedbackNote
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.ids import new_ids
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.otel import HostTracing, context_with
from rag_monitor.sdk.queue import BoundedQueue
from rag_monitor.sdk.record import LiveTrace, NullTrace
from rag_monitor.sdk.sender import Item, Sender
from rag_monitor.sdk.share import HostSpans
from rag_monitor.sdk.steps import Step
from rag_monitor.sdk.transport import Poster, Transport

if TYPE_CHECKING:
    from rag_monitor.sdk.spool import Spool

_WAKE_EVERY = 256


class Recorder:
    """One configuration at work: begins traces, takes finished ones, delivers them."""

    def __init__(self, options: Options, transport: Poster | None = None) -> None:
        self.options = options
        self.counters = Counters()
        self.max_chars = options.max_text_bytes
        self.max_answer_chars = options.max_trace_bytes
        self._redactor = build_redactor(options.redact, options.redaction_key)
        self._wake_chars = options.max_queue_chars // 8
        encoder = Encoder(options, self._redactor)
        self._host = HostTracing()
        self._shared = HostSpans(encoder) if options.provider == "share" else None
        self._export = SpanExport(encoder, self._shared, self.counters, steps=options.steps)
        self._queue: BoundedQueue[Item] = BoundedQueue(
            options.max_queue, options.max_queue_chars, self.counters
        )
        self._sender = Sender(
            options,
            self.counters,
            self._queue,
            self._export,
            Envelope(options, __version__),
            transport
            or Transport(
                options.endpoint,
                _headers(options),
                compression=options.compression,
                timeout_s=options.timeout_s,
            ),
            _spool(options, self.counters),
        )
        self._pid = os.getpid()
        self._started = False
        self.closed = False

    def new_trace(self, name: str, ended: LiveTrace | NullTrace | None = None) -> LiveTrace:
        """Begin a trace with the ids OpenTelemetry's context calls for.

        Args:
            name: What is traced.
            ended: The trace this context still holds although it is over; no parent of this one.
        """
        provider = self._host.provider()
        if self._shared is not None and provider is not None:
            return self._shared.open(self, provider, name, ended)
        context = get_current()
        trace_id, span_id = new_ids()
        link = None
        if context:  # most hosts have no tracing of their own
            trace_id, link = self._host.trace_of(context, trace_id)
        live = LiveTrace(self, name, trace_id, span_id)
        live.host_span = link
        if provider is None:
            live.otel_context = context_with(context, trace_id, span_id)
        return live

    def submit(self, item: Item) -> None:
        """Queue a finished trace or a feedback note; never waits, never raises."""
        try:
            if self._pid != os.getpid():  # forked by C code that runs no hooks of Python's
                self.renew_after_fork()
            if isinstance(item, LiveTrace):
                item.chars += item.answer_chars
                for text in (item.question, item.answer):
                    if type(text) is str:
                        item.chars += len(text)
            if self.closed:
                self.counters.produce()
                self.counters.drop("exit")
                return
            waiting = self._queue.put(item)
            if not self._started:
                self._started = self._sender.ensure_started()
            if waiting % _WAKE_EVERY == 0 or self._queue.chars > self._wake_chars:
                self._sender.nudge()
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.caught("submit", error)

    def open_shared(self, step: Step) -> None:
        """Begin a span for `step` in the host's provider."""
        if self._shared is not None:
            self._shared.open_step(step)

    def leave_shared(self, step: Step) -> None:
        """Make the span around `step` current again."""
        if self._shared is not None:
            self._shared.leave_step(step)

    def feedback(self, fields: dict[str, Any]) -> None:
        """Queue a person's mark."""
        content = self.options.capture_content
        self.submit(FeedbackNote(fields, self._redactor, content=content))

    @property
    def waiting(self) -> bool:
        """Whether something produced has not reached its end."""
        return self.counters.produced != self.counters.settled

    @property
    def held_up(self) -> bool:
        """Whether the last attempt to reach the monitor failed."""
        return self._sender.held_up

    def flush(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s`; True when everything produced so far has arrived."""
        if self.closed:  # nobody sends any more
            return not self.waiting
        return self._sender.flush(timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Flush within `timeout_s`, then stop; what is left is dropped and counted."""
        if self.closed:
            return True
        arrived = self.flush(timeout_s)
        self.closed = True
        self._sender.stop(0.5)
        return arrived

    def stats(self) -> dict[str, object]:
        """Counts of this client, see `rag_monitor.stats`."""
        return {
            **self.counters.snapshot(),
            "queued_chars": self._queue.chars,
            "sender_alive": self._sender.alive,
            "internal_errors": dict(GUARD.errors),
        }

    def renew_after_fork(self) -> None:
        """In a forked child: empty queue, fresh locks, own thread at the next trace."""
        self._pid = os.getpid()
        self._started = False
        self.counters.renew_after_fork()
        self._queue.renew_after_fork()
        self._sender.renew_after_fork()


def _spool(options: Options, counters: Counters) -> Spool | None:
    if not options.spool_dir:
        return None
    try:
        from rag_monitor.sdk.spool import Spool
    except ImportError:  # Windows: no fcntl
        GUARD.say(
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
