"""The one background thread: encodes, batches, sends, retries. Never blocks a caller."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from opentelemetry import context as otel_context

from rag_monitor.outbound.retry import backoff_s
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.feedback import Annotation, refusal_of
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.outcome import Outcome
from rag_monitor.sdk.queue import BoundedQueue, WakeEvent
from rag_monitor.sdk.record import CURRENT, NULL, LiveTrace

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_monitor.sdk.spool import Spool
    from rag_monitor.sdk.tools import Tools

FIRST_BACKOFF_S: Final = 0.5
MAX_BACKOFF_S: Final = 30.0
_AWAY_AFTER: Final = 2
"""Attempts in a row without an answer after which the end of a process waits no longer."""
_LEAST_RETRY_AFTER_S: Final = 0.5
"""A server that asks for a shorter pause than this gets the sender's own."""
RESTART_EVERY_S: Final = 5.0
_MOST_MISTAKES: Final = 3
"""How often a batch may meet an internal error before it is given up."""
_MAX_BATCH_TRACES: Final = 512
_MOST_ANNOTATIONS: Final = 100
"""Annotations held while the server is away; more wait in the queue."""
_SPOOL_AGAIN_S: Final = 1.0
"""How long a disk that took nothing is left alone."""
_YIELD_NS: Final = 300_000
"""After so long a waiting handler gets the interpreter; asked for, it would come after 5 ms."""

Item = LiveTrace | Annotation

LOADING = threading.RLock()
"""Held while tools are loaded: a process must not fork then, its child could never load them."""
_LOADED_WITHIN_S: Final = 2.0


class Batch:
    """Encoded traces that travel together, or one annotation."""

    __slots__ = ("annotation", "file", "mistakes", "traces")

    def __init__(self, traces: list[list[bytes]], annotation: Annotation | None = None) -> None:
        self.traces = traces
        self.annotation = annotation
        self.file: str | None = None
        """Where the spool keeps it until it is settled."""
        self.mistakes = 0
        """How often sending it ended in an internal error."""

    def __len__(self) -> int:
        return 1 if self.annotation is not None else len(self.traces)


class Sender:
    """Owns the thread, the connection and the back-off."""

    def __init__(
        self,
        options: Options,
        counters: Counters,
        queue: BoundedQueue[Item],
        make_tools: Callable[[], Tools],
    ) -> None:
        self._options = options
        self._counters = counters
        self._queue = queue
        self._make_tools = make_tools
        self._tools: Tools | None = None
        self._spooling = bool(options.spool_dir)
        self._start_failed_at: float | None = None
        self.renew_after_fork()

    def renew_after_fork(self) -> None:
        """Forget the parent's thread, connection and batches."""
        self._thread: threading.Thread | None = None
        self._wake_event = WakeEvent()
        self._starting = False
        self._start_lock = threading.RLock()
        self._held: deque[Batch] = deque()
        self._parked: deque[tuple[str, int]] = deque()
        self._stopping = False
        self._failures = 0
        self._unreachable = False
        """Whether the last attempt ended without any answer: refused, unknown host, timeout."""
        self._retry_at = 0.0
        self._spool_again_at = 0.0
        self._announced = False
        self._next: Item | None = None
        self._adopting = self._spooling
        if self._tools is not None:
            self._tools.transport.close()
            if self._tools.spool is not None:
                self._tools.spool.renew_after_fork()

    @property
    def tools(self) -> Tools:
        """What it works with, loaded when first asked for."""
        tools = self._tools
        if tools is None:
            with LOADING:
                tools = self._tools = self._tools or self._make_tools()
            if tools.spool is None:
                self._spooling = self._adopting = False
                self._counters.deliver(0)  # wakes a waiting flush
        return tools

    @property
    def _spool(self) -> Spool | None:
        return self.tools.spool if self._spooling else None

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def ensure_started(self) -> bool:
        """Start the thread when there is none; a machine without threads is tolerated."""
        with self._start_lock:
            if self.alive or self._starting:  # by what a signal interrupted
                return self.alive
            now = time.monotonic()
            if self._start_failed_at is not None and now - self._start_failed_at < RESTART_EVERY_S:
                return False
            thread = threading.Thread(target=self._run, name="rag-monitor-sender", daemon=True)
            self._starting = True
            self._wake_event = (
                WakeEvent()
            )  # gevent may have patched locks since, and threads with them
            try:
                thread.start()
            except RuntimeError as error:
                self._start_failed_at = now
                GUARD.warn_once(
                    "thread", "cannot start the sender (%s); traces wait in memory", error
                )
                return False
            finally:
                self._starting = False
            self._thread = thread
            return True

    def wake(self) -> None:
        """Send soon instead of at the next interval."""
        self._wake_event.set()

    def nudge(self) -> None:
        """As `wake`, unless a batch is held: it looks for more when that one has arrived.

        With the server away the thread would wake for every trace, only to find that it must wait.
        A spool takes what waits even then.
        """
        if not self._held or self._spooling:
            self._wake_event.set()

    def flush(self, timeout_s: float, unreachable_s: float | None = None) -> bool:
        """Wait until everything produced so far is settled; True when all of it arrived.

        With `unreachable_s` it gives up early once nothing was settled for so long and two attempts
        in a row had no answer. One that is under way is waited for: it may be answered.
        """
        if threading.current_thread() is self._thread:
            return False
        counters = self._counters
        with counters.changed:
            target, lost = counters.produced - counters.adopted, counters.dropped_total

        def all_settled() -> bool:
            return counters.settled - counters.adopted >= target and not self._adopting

        if all_settled():
            return True
        self.ensure_started()
        if not self._announced:
            self._retry_at = 0.0
        self.wake()
        now = since = time.monotonic()
        ends, settled = now + timeout_s, counters.settled
        look_s = timeout_s if unreachable_s is None else unreachable_s / 4
        with counters.changed:
            while now < ends and not counters.changed.wait_for(
                all_settled, min(look_s, ends - now)
            ):
                now = time.monotonic()
                if counters.settled != settled:
                    since, settled = now, counters.settled
                is_away = self._unreachable and self._failures >= _AWAY_AFTER
                if unreachable_s is not None and is_away and now - since >= unreachable_s:
                    break
            return all_settled() and counters.dropped_total == lost

    def stop(self, timeout_s: float) -> None:
        """End the thread within the time; whatever is left is counted as dropped, or spooled."""
        self._stopping = True
        self.wake()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, timeout_s))
        if not self.alive and self._tools is not None:
            self._tools.transport.close()
        left = self._counters.produced - self._counters.settled
        if self._spool is not None and not self.alive:
            left -= self._save_rest(self._spool)
        self._counters.drop("exit", left)

    def _run(self) -> None:
        CURRENT.set(NULL)
        key = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", None)
        if key is not None:
            otel_context.attach(otel_context.set_value(key, True))
        while not self._stopping:
            self._wake_event.wait(self._pause_s())
            try:
                self._drain()
            except Exception as error:  # noqa: BLE001 - the boundary; the thread must live on
                self._stumble()
                GUARD.report("sender", error)

    def _stumble(self) -> None:
        """After an internal error: pause as if the server were away; give up what keeps failing.

        The next attempt would fail like this one; without a pause it would follow at once.
        """
        self._back_off(Outcome(0))
        with contextlib.suppress(Exception):
            self.tools.transport.close()  # a request may have been cut short
        if not self._held:
            return
        batch = self._held[0]
        batch.mistakes += 1
        if batch.mistakes < _MOST_MISTAKES:
            return
        self._held.popleft()
        self._failures, self._retry_at = 0, 0.0
        self._counters.drop("internal_error", len(batch))
        self._forget(batch)
        GUARD.warn_once(
            "given_up",
            "gave up %s traces after %s internal errors; see rag_monitor.stats()",
            len(batch),
            _MOST_MISTAKES,
        )
        self.wake()

    def _pause_s(self) -> float:
        wait = max(0.0, self._retry_at - time.monotonic())
        if not self._held:
            return max(wait, self._options.interval_s)
        return wait if not self._spooling else min(wait, self._options.interval_s)

    def _drain(self) -> None:
        while not self._stopping:
            if not self._held:
                batch = self._adopted() or self._unparked()
                if batch is None:
                    batch = self._collect()
                    if batch is None:
                        return
                    self._keep(batch)
                self._held.append(batch)
            if time.monotonic() < self._retry_at:
                self._park()
                return
            batch = self._held[0]
            self._unreachable = False
            self._settle(batch, self._send(batch))

    def _collect(self) -> Batch | None:
        """Encode the next traces into a batch of at most `max_batch_bytes`."""
        traces: list[list[bytes]] = []
        size = 0
        yielded = time.perf_counter_ns()
        while size < self._options.max_batch_bytes and len(traces) < _MAX_BATCH_TRACES:
            item, self._next = self._next or self._queue.take(), None
            if item is None:
                break
            if isinstance(item, Annotation):
                if traces:
                    self._next = item
                    break
                return Batch([], item)
            spans = self._encode(item)
            if spans:
                traces.append(spans)
                size += sum(map(len, spans))
            now = time.perf_counter_ns()
            if now - yielded > _YIELD_NS:
                time.sleep(0)
                yielded = time.perf_counter_ns()
        return Batch(traces) if traces else None

    def _encode(self, live: LiveTrace) -> list[bytes]:
        try:
            return self.tools.encoder.spans(live)
        except BaseException as error:  # noqa: BLE001 - a redactor of the user's may raise anything
            self._counters.drop("encode_failed")
            GUARD.report("encode", error)
            return []

    def _send(self, batch: Batch) -> Outcome:
        if batch.annotation is not None:
            body = batch.annotation.body(self.tools.redactor)
            return self.tools.transport.post("/api/v1/feedback", body, "application/json")
        report = self._counters.take_unreported()
        reported = False
        try:
            envelope = self.tools.envelope
            body = envelope.wrap([span for spans in batch.traces for span in spans], report)
            outcome = self.tools.transport.post("/v1/traces", body, envelope.content_type)
            reported = outcome.ok
        finally:
            if not reported:
                self._counters.give_back(report)
        return outcome

    def _settle(self, batch: Batch, outcome: Outcome) -> None:
        self._unreachable = outcome.status == 0
        if outcome.retryable:
            self._back_off(outcome)
            return
        self._failures = 0
        self._announced = False
        self._held.popleft()
        if outcome.status == 413 and len(batch.traces) > 1:
            middle = len(batch.traces) // 2
            halves = [Batch(batch.traces[:middle]), Batch(batch.traces[middle:])]
            for half in reversed(halves):
                self._keep(half)
                self._held.appendleft(half)
            self._forget(batch)
            return
        self._forget(batch)
        count = len(batch)
        if outcome.ok:
            rejected = (
                0 if batch.annotation else min(count, self.tools.envelope.rejected(outcome.body))
            )
            self._counters.deliver(count - rejected)
            self._counters.drop("rejected", rejected)
            return
        reason = "too_large" if outcome.status == 413 else f"http_{outcome.status}"
        if batch.annotation is not None:
            GUARD.warn_once("mark", "the monitor refused a mark: %s", refusal_of(outcome))
        else:
            GUARD.warn_once(
                reason,
                "the monitor refused traces with HTTP %s; see rag_monitor.stats()",
                outcome.status,
            )
        self._counters.drop(reason, count)

    def _back_off(self, outcome: Outcome) -> None:
        self._failures += 1
        wait = outcome.retry_after_s or 0.0
        self._announced = wait >= _LEAST_RETRY_AFTER_S
        if not self._announced:  # "at once", said again and again, would take the host's core
            wait = backoff_s(self._failures, FIRST_BACKOFF_S, MAX_BACKOFF_S)
        self._retry_at = time.monotonic() + wait

    def _keep(self, batch: Batch) -> None:
        """Write a batch to disk. Where that fails it stays in memory: no error may lose it."""
        if self._spool is not None and batch.annotation is None:
            try:
                batch.file = self._spool.save(batch.traces)
            except Exception as error:  # noqa: BLE001 - the boundary
                GUARD.report("spool", error)
            if batch.file is None:
                self._spool_again_at = time.monotonic() + _SPOOL_AGAIN_S

    def _forget(self, batch: Batch) -> None:
        if self._spool is not None and batch.file is not None:
            try:
                self._spool.remove(batch.file)
            except Exception as error:  # noqa: BLE001 - the boundary
                GUARD.report("spool", error)

    def _adopted(self) -> Batch | None:
        """The next batch that a dead process left behind, one in memory at a time."""
        if self._spool is None or not self._adopting:
            return None
        try:
            adopted = self._spool.adopt()
        except Exception as error:  # noqa: BLE001 - what others left must not hold up what is ours
            GUARD.report("spool", error)
            adopted = None
        if adopted is None:
            self._adopting = False
            self._counters.deliver(0)  # wakes a waiting flush
            return None
        batch = Batch(adopted[1])
        batch.file = adopted[0]
        self._counters.adopt(len(batch))
        return batch

    def _park(self) -> None:
        """While the server is away, move traces from memory to disk; annotations stay in memory."""
        while self._spool is not None and len(self._held) < _MOST_ANNOTATIONS and self._kept():
            batch = self._collect()
            if batch is None:
                return
            self._keep(batch)
            if batch.file is None:
                self._held.append(batch)
            else:
                self._parked.append((batch.file, len(batch)))

    def _kept(self) -> bool:
        """Whether the disk has all that is held; what it would not take before, it is given again.

        What follows the batch that is being sent need not wait in memory, too.
        """
        missing = [batch for batch in self._held if batch.annotation is None and batch.file is None]
        if missing and time.monotonic() < self._spool_again_at:
            return False
        for batch in missing:
            self._keep(batch)
            if batch.file is None:
                return False
        for batch in list(islice(self._held, 1, None)):
            if batch.file is not None:
                self._held.remove(batch)
                self._parked.append((batch.file, len(batch)))
        return True

    def _unparked(self) -> Batch | None:
        """The oldest batch that was moved to disk."""
        while self._spool is not None and self._parked:
            file, count = self._parked.popleft()
            batch = Batch(self._read(self._spool, file))
            batch.file = file
            self._counters.drop("spool_lost", count - len(batch))
            if batch.traces:
                return batch
        return None

    def _read(self, spool: Spool, file: str) -> list[list[bytes]]:
        try:
            return spool.read(file)
        except Exception as error:  # noqa: BLE001 - the boundary; what cannot be read is counted
            GUARD.report("spool", error)
            return []

    def _save_rest(self, spool: Spool) -> int:
        """Write what is still in memory to disk; returns how many traces will not be lost."""
        saved = sum(count for _, count in self._parked)
        for held in self._held:
            saved += len(held) if held.file is not None else self._save_some(spool, held)
        while (batch := self._collect()) is not None:
            saved += self._save_some(spool, batch)
        spool.close()
        return saved

    def _save_some(self, spool: Spool, batch: Batch) -> int:
        try:
            return spool.save_some(batch.traces)
        except Exception as error:  # noqa: BLE001 - the boundary; what is not saved is counted
            GUARD.report("spool", error)
            return 0


def _before_fork() -> None:
    LOADING.acquire(timeout=_LOADED_WITHIN_S)


def _after_fork() -> None:
    with contextlib.suppress(RuntimeError):  # it took too long and was not waited for
        LOADING.release()


def _after_fork_in_child() -> None:
    global LOADING
    LOADING = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
    )
