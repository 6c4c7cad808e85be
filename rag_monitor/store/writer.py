"""The group commit: many requests, one transaction, an answer only after it is durable.

One thread takes everything that waits (up to a bound), writes it and commits once. While it waits
for the disk, the next group gathers by itself, so no timer is needed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from rag_monitor import telemetry
from rag_monitor.domain.ports import IngestBatch, WriteOutcome
from rag_monitor.errors import (
    NotIngesting,
    QueueFull,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
)
from rag_monitor.store.engine import Database
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.outage import Outage
from rag_monitor.store.raw_spans import (
    LOOK_EVERY_S,
    AssemblyBacklog,
    PreparedBlob,
    prepare,
    write_group,
)

_LOG: Final = logging.getLogger(__name__)
_QUEUE: Final = "store_writer"
_OVERHEAD: Final = 512
"""Bytes a waiting blob costs beside its payload."""
_INLINE_BYTES: Final = 32 * 1024
"""What is hashed and compressed on the event loop: half a millisecond at most."""

_PREPARING: Final = 2
"""Large batches that are hashed and compressed at once."""
_ANSWERED_AT_ONCE: Final = 4
"""Callers of a group that go on in one round of their event loop."""


@dataclass(slots=True, eq=False)
class _Waiting:
    rows: int
    size: int
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[WriteOutcome]
    prepared: Sequence[PreparedBlob] = ()
    outcome: WriteOutcome | StoreError | None = None


class Writer:
    """The `TraceSink` of the store. `write` may be called from any event loop."""

    def __init__(self, database: Database, options: StoreOptions, backlog: AssemblyBacklog) -> None:
        self._database = database
        self._options = options
        self._backlog = backlog
        self._queue: deque[_Waiting] = deque()
        self._wake = threading.Condition()
        self._rows = 0
        self._bytes = 0
        self._thread: threading.Thread | None = None
        # Of its own: what else waits in this process must not hold up a commit.
        self._preparing = ThreadPoolExecutor(_PREPARING, "store-prepare")
        self._stopping = False
        self._refusing = False
        self._outage = Outage(
            _LOG, "no traces are taken in, senders are told to try again", database.shared_outage
        )

    def start(self) -> None:
        """Start the thread. Calling it again does nothing."""
        with self._wake:
            if self._thread is not None:
                return
            self._stopping = False
            self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
            self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> bool:
        """Write what waits, then end. False when that took longer than `timeout_s`."""
        with self._wake:
            thread, self._stopping = self._thread, True
            self._wake.notify_all()
        if thread is None:
            return True
        thread.join(timeout_s)
        if thread.is_alive():
            return False
        self._thread = None
        return True

    @property
    def waiting(self) -> int:
        """Blobs that are not durable yet."""
        return self._rows

    @property
    def refusing(self) -> bool:
        """Whether the database took nothing of what was last given to it."""
        return self._refusing

    @property
    def behind(self) -> bool:
        """Whether so much waits to be assembled that nothing is taken in."""
        return self._backlog.full

    async def write(self, batch: IngestBatch) -> WriteOutcome:
        """Store the batch and return once it is committed.

        Raises:
            QueueFull: Too much is waiting to be written, or to be assembled; answer 503.
            NotIngesting: The writer was not started: this process has another role.
            StoreUnavailable: The database does not answer or is full; answer 503.
        """
        if not batch.blobs:
            return WriteOutcome()
        self._backlog.admit(len(batch.blobs))
        loop = asyncio.get_running_loop()
        size = sum(len(blob.payload) + _OVERHEAD for blob in batch.blobs)
        waiting = _Waiting(len(batch.blobs), size, loop, loop.create_future())
        self._reserve(waiting)
        try:
            waiting.prepared = await self._prepare(batch, size)
            self._enqueue(waiting)
        except BaseException:
            self._release([waiting])
            raise
        try:
            async with asyncio.timeout(self._options.write_timeout_s):
                return await waiting.future
        except TimeoutError:
            self._database.doubted = True
            telemetry.dropped("store", "write_timeout", len(batch.blobs))
            raise StoreUnavailable(
                "no commit within {seconds:g} s; try again", seconds=self._options.write_timeout_s
            ) from None

    async def _prepare(self, batch: IngestBatch, size: int) -> list[PreparedBlob]:
        """Hash and compress before the writer's turn comes, beside it when it is much."""
        if size <= _INLINE_BYTES:
            return prepare(batch)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._preparing, prepare, batch)

    def _reserve(self, waiting: _Waiting) -> None:
        """Take room before any work is done for the batch, or refuse it."""
        with self._wake:
            self._require_running()
            full = (
                self._rows + waiting.rows > self._options.queue_rows
                or self._bytes + waiting.size > self._options.queue_bytes
            )
            if full and self._rows:  # one batch beyond the bounds may pass an empty queue
                telemetry.dropped("store", "queue_full", waiting.rows)
                raise QueueFull
            self._rows += waiting.rows
            self._bytes += waiting.size
        telemetry.QUEUE_DEPTH.labels(queue=_QUEUE).set(self._rows)

    def _enqueue(self, waiting: _Waiting) -> None:
        with self._wake:
            self._require_running()
            self._queue.append(waiting)
            self._wake.notify()

    def _require_running(self) -> None:
        if self._thread is None and not self._stopping:
            raise NotIngesting
        if self._thread is None or self._stopping:
            raise StoreUnavailable("the store is shutting down; try again in a few seconds")

    def _run(self) -> None:
        with self._database.reserved():
            self._write_groups()

    def _write_groups(self) -> None:
        while group := self._next_group():
            try:
                self._write(group)
            except Exception as error:  # noqa: BLE001 - the thread must outlive whatever happens
                _LOG.exception("a group of %d batches was not written", len(group))
                for waiting in group:
                    waiting.outcome = waiting.outcome or StoreError(
                        "not written: {reason!r}", reason=error
                    )
            self._release(group)
            _answer(group)
            self._look_at_backlog()

    def _look_at_backlog(self) -> None:
        """Count what waits to be assembled, unless the database was just seen to be away."""
        if not self._refusing:
            self._backlog.refresh()

    def _next_group(self) -> list[_Waiting]:
        """The oldest batches, up to the bounds of a commit; empty when stopped and drained."""
        while not self._queue and not self._stopping:
            self._look_at_backlog()  # also while nothing comes, or nothing is let in
            with self._wake:
                self._wake.wait_for(lambda: self._queue or self._stopping, LOOK_EVERY_S)
        with self._wake:
            group: list[_Waiting] = []
            rows = size = 0
            while self._queue:
                upcoming = self._queue[0]
                rows += upcoming.rows
                size += upcoming.size
                if group and (rows > self._options.group_rows or size > self._options.group_bytes):
                    break
                group.append(self._queue.popleft())
            return group

    def _write(self, group: Sequence[_Waiting]) -> None:
        try:
            self._commit(group)
        except StoreUnavailable as error:
            self._refuse(error)
            for waiting in group:
                waiting.outcome = error
        except StoreError as error:
            if len(group) == 1:
                if not isinstance(error, StoreDamaged):  # told once by who met the page
                    _LOG.exception("a batch was refused by the database")
                group[0].outcome = error
                return
            # Something in one batch was refused; its neighbours must not suffer.
            for waiting in group:
                self._write([waiting])

    def _commit(self, group: Sequence[_Waiting]) -> None:
        blobs = [blob for waiting in group for blob in waiting.prepared]
        fresh = self._database.transact(
            lambda connection: write_group(connection, blobs, self._options)
        )
        self._accept()
        start = 0
        for waiting in group:
            new = sum(fresh[start : start + waiting.rows])
            start += waiting.rows
            waiting.outcome = WriteOutcome(new=new, duplicates=waiting.rows - new)

    def _refuse(self, error: StoreUnavailable) -> None:
        """Tell of an outage once; a process of the role `ingest` has no other line about it."""
        if not self._refusing:
            self._refusing = True
            self._backlog.forget()
        self._outage.hit(error)

    def _accept(self) -> None:
        if self._refusing:
            self._refusing = False
            self._outage.passed()

    def _release(self, group: Iterable[_Waiting]) -> None:
        with self._wake:
            for waiting in group:
                self._rows -= waiting.rows
                self._bytes -= waiting.size
        telemetry.QUEUE_DEPTH.labels(queue=_QUEUE).set(self._rows)


def _answer(group: Sequence[_Waiting]) -> None:
    """Wake the callers, with one call per event loop."""
    loops = {waiting.loop for waiting in group}
    for loop in loops:
        mine = [waiting for waiting in group if waiting.loop is loop]
        try:
            loop.call_soon_threadsafe(_resolve, mine)
        except RuntimeError:  # the loop is closed: nobody waits any more
            telemetry.dropped("store", "caller_gone", len(mine))


def _resolve(group: Sequence[_Waiting]) -> None:
    """Answer a few callers; the others in the next rounds of the event loop, for others' sake."""
    if others := group[_ANSWERED_AT_ONCE:]:
        others[0].loop.call_soon(_resolve, others)
    for waiting in group[:_ANSWERED_AT_ONCE]:
        if waiting.future.done():  # the caller was cancelled
            continue
        if isinstance(waiting.outcome, WriteOutcome):
            waiting.future.set_result(waiting.outcome)
        else:
            waiting.future.set_exception(waiting.outcome or StoreError("not written"))
