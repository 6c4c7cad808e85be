"""One configuration of the SDK at work: queue and sender; what these work with is loaded later."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from opentelemetry.context import get_current

from rag_monitor.sdk.counters import OUTSIDE, Counters
from rag_monitor.sdk.feedback import Annotation
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.otel import HostTracing, context_with, new_ids
from rag_monitor.sdk.queue import BoundedQueue
from rag_monitor.sdk.record import LiveTrace, NullTrace
from rag_monitor.sdk.sender import Item, Sender
from rag_monitor.sdk.step import Step

if TYPE_CHECKING:
    from rag_monitor.sdk.outcome import Poster
    from rag_monitor.sdk.span_export import HostSpans
    from rag_monitor.sdk.tools import Tools

_WAKE_EVERY = 256
_STOP_S = 0.5
"""Of the time at the end, what is left for ending the sender's thread."""
_UNREACHABLE_S = 0.5
"""How long the end waits for a monitor that cannot be reached; a restart takes longer anyway."""


class Recorder:
    """One configuration at work: begins traces, takes finished ones, delivers them.

    >>> from rag_monitor.testing import InMemoryExporter
    >>> recorder = InMemoryExporter(app="shop").client  # a `Recorder` that sends nowhere
    >>> recorder.new_trace("chat").set(question="Why?", answer="Because.").finish()
    >>> recorder.flush(5.0), recorder.stats()["delivered"]
    (True, 1)
    >>> recorder.close(5.0)
    True
    """

    def __init__(self, options: Options, transport: Poster | None = None) -> None:
        self.options = options
        self.counters = Counters()
        self.max_chars = options.max_text_bytes
        self.max_answer_chars = options.max_trace_bytes
        self._transport = transport
        self._wake_chars = options.max_queue_chars // 8
        self._host = HostTracing()
        self._shared: HostSpans | None = None
        self._queue: BoundedQueue[Item] = BoundedQueue(
            options.max_queue, options.max_queue_chars, self.counters
        )
        self._sender = Sender(options, self.counters, self._queue, self._tools)
        self._pid = os.getpid()
        self._started = False
        self._begun = 0
        self._finished = 0
        self.closed = False
        if options.provider == "share":  # its spans are opened in the call
            self.prepare()

    def prepare(self) -> None:
        """Load now what the sender works with, instead of on its thread at the first trace."""
        self._shared = self._sender.tools.shared

    def _tools(self) -> Tools:
        from rag_monitor.sdk.tools import Tools

        return Tools(self.options, self.counters, self._transport)

    def new_trace(self, name: str, ended: LiveTrace | NullTrace | None = None) -> LiveTrace:
        """Begin a trace with the ids OpenTelemetry's context calls for.

        Args:
            name: What is traced.
            ended: The trace this context still holds although it is over; no parent of this one.
        """
        self._begun += 1
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
        """Queue a finished trace or an annotation; never waits, never raises."""
        try:
            if self._pid != os.getpid():  # forked by C code that runs no hooks of Python's
                self.renew_after_fork()
            if isinstance(item, LiveTrace):
                self._finished += 1
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
            GUARD.report("submit", error)

    def open_shared(self, step: Step) -> None:
        """Begin a span for `step` in the host's provider."""
        if self._shared is not None:
            self._shared.open_step(step)

    def leave_shared(self, step: Step) -> None:
        """Make the span around `step` current again."""
        if self._shared is not None:
            self._shared.leave_step(step)

    def feedback(self, fields: dict[str, Any]) -> None:
        """Queue a rating or a mark."""
        self.submit(Annotation(fields, content=self.options.capture_content))

    def refuse_feedback(self) -> None:
        """Count feedback that the server would refuse: nothing of it is sent."""
        self.counters.produce()
        self.counters.drop("invalid_feedback")

    @property
    def waiting(self) -> bool:
        """Whether something produced has not reached its end."""
        return self.counters.produced != self.counters.settled

    @property
    def unfinished(self) -> bool:
        """Whether traces seem to be open. Threads count at once: it may say so though none is."""
        return self._begun != self._finished

    def flush(self, timeout_s: float, unreachable_s: float | None = None) -> bool:
        """Wait up to `timeout_s`; True when everything produced so far has arrived.

        With `unreachable_s` a monitor that cannot be reached is waited for about that long.
        """
        if self.closed:  # nobody sends any more
            return not self.waiting
        return self._sender.flush(timeout_s, unreachable_s)

    @property
    def exit_s(self) -> float:
        """How long the end of the process may wait for the last traces."""
        return self.options.exit_timeout_s - _STOP_S

    def flush_last(self, timeout_s: float) -> bool:
        """Flush as the process ends: a monitor that cannot be reached holds it up only briefly.

        One that answers, however late or with "try again", has the whole time.
        """
        self.flush(timeout_s, unreachable_s=_UNREACHABLE_S)
        return not self.waiting

    def close(self, timeout_s: float) -> bool:
        """Flush within `timeout_s`, then stop; what is left is dropped and counted."""
        if self.closed:
            return True
        arrived = self.flush_last(timeout_s)
        self.closed = True
        self._sender.stop(_STOP_S)
        return arrived

    def stats(self) -> dict[str, object]:
        """Counts of this client, see `rag_monitor.stats`."""
        return {
            **self.counters.snapshot(),
            "queued_chars": self._queue.chars,
            "outside": OUTSIDE.steps,
            "sender_alive": self._sender.alive,
            "internal_errors": dict(GUARD.errors),
        }

    def renew_after_fork(self) -> None:
        """In a forked child: empty queue, fresh locks, own thread at the next trace."""
        OUTSIDE.renew_after_fork()
        self._pid = os.getpid()
        self._started = False
        self._begun = self._finished = 0
        self.counters.renew_after_fork()
        self._queue.renew_after_fork()
        self._sender.renew_after_fork()
