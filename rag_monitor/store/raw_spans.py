"""Raw spans to rows: what one group commit writes, and how much of it may wait to be assembled.

A blob is stored once per (project, trace, SHA-256 of its payload), so that a resent request changes
nothing. `trace_keys` fixes the day of a trace and knows when it is due to be assembled.

Spans are taken in faster than traces are made of them. Beyond the bound of the backlog senders are
told to wait: without it nobody would know before the disk is full, and pages would show less and
less of what was acknowledged.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select, update

from rag_monitor import telemetry
from rag_monitor.domain.ports import IngestBatch, SpanBlob
from rag_monitor.domain.stored import Assembling
from rag_monitor.errors import QueueFull, StoreError
from rag_monitor.store.bulk import Key, chunks, insert_new
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.spans import compress
from rag_monitor.store.tables import spans, trace_keys
from rag_monitor.store.types import storable_name


@dataclass(frozen=True, slots=True)
class PreparedBlob:
    """A blob, hashed and compressed, ready to insert."""

    key: Key
    digest: bytes
    received_at: datetime
    blob: SpanBlob
    compressed: bytes
    bulk: bool


def prepare(batch: IngestBatch) -> list[PreparedBlob]:
    """Hash and compress. Costs CPU and touches nothing else: run it on any thread."""
    project = storable_name(batch.project)
    return [
        PreparedBlob(
            (project, storable_name(blob.trace_id)),
            hashlib.sha256(blob.payload).digest(),
            batch.received_at,
            blob,
            compress(blob.payload),
            batch.bulk,
        )
        for blob in batch.blobs
    ]


def write_group(
    connection: Connection,
    blobs: Sequence[PreparedBlob],
    options: StoreOptions,
) -> list[bool]:
    """Insert what is new; says per blob whether it was."""
    by_key: dict[Key, list[PreparedBlob]] = defaultdict(list)
    for blob in blobs:
        by_key[blob.key].append(blob)
    days = _insert_keys(connection, by_key, options)
    fresh = set(days)
    existing = _lock_existing(connection, [key for key in by_key if key not in fresh])
    days.update({key: row.day for key, row in existing.items()})
    stored = _insert_spans(connection, blobs, days)
    _make_due(connection, by_key, existing, stored, options)
    outcome = []
    for blob in blobs:
        name = (*blob.key, blob.digest)
        outcome.append(name in stored)
        stored.discard(name)  # the same blob twice in one group: the second is the duplicate
    return outcome


def due_at(
    blobs: Iterable[PreparedBlob], first_received: datetime, options: StoreOptions
) -> datetime:
    """When a trace that has never been derived is ready, by the blobs known now."""
    moments = [first_received + timedelta(seconds=options.rootless_delay_s)]
    for item in blobs:
        if item.blob.complete:
            moments.append(item.received_at)
        elif item.blob.has_root:
            moments.append(item.received_at + timedelta(seconds=options.root_delay_s))
    return min(moments)


def _insert_keys(
    connection: Connection,
    by_key: dict[Key, list[PreparedBlob]],
    options: StoreOptions,
) -> dict[Key, date]:
    """Insert the keys seen for the first time; returns their days."""
    rows = []
    for (project, trace_id), blobs in sorted(by_key.items()):  # one order: no deadlocks
        first = min(blob.received_at for blob in blobs)
        rows.append(
            {
                "project": project,
                "trace_id": trace_id,
                "day": first.astimezone(UTC).date(),
                "first_received": first,
                "due_at": due_at(blobs, first, options),
                "version": len({blob.digest for blob in blobs}),
                "bulk": all(blob.bulk for blob in blobs),
            }
        )
    returning = (trace_keys.c.project, trace_keys.c.trace_id, trace_keys.c.day)
    inserted = insert_new(connection, trace_keys, rows, returning)
    return {(project, trace_id): day for project, trace_id, day in inserted}


def _lock_existing(connection: Connection, keys: Iterable[Key]) -> dict[Key, Any]:
    existing = {}
    for project, trace_ids in chunks(keys):
        statement = (
            select(trace_keys)
            .where(trace_keys.c.project == project, trace_keys.c.trace_id.in_(trace_ids))
            .order_by(trace_keys.c.trace_id)
            .with_for_update()
        )
        for row in connection.execute(statement):
            existing[row.project, row.trace_id] = row
    return existing


def _insert_spans(
    connection: Connection,
    blobs: Sequence[PreparedBlob],
    days: dict[Key, date],
) -> set[tuple[str, str, bytes]]:
    rows = {
        (*item.key, item.digest): {
            "project": item.key[0],
            "trace_id": item.key[1],
            "day": days[item.key],
            "digest": item.digest,
            "received_at": item.received_at,
            "format": item.blob.format.value,
            "complete": item.blob.complete,
            "has_root": item.blob.has_root,
            "spans": item.blob.spans,
            "payload": item.compressed,
        }
        for item in blobs
    }
    ordered = [rows[name] for name in sorted(rows)]
    returning = (spans.c.project, spans.c.trace_id, spans.c.digest)
    inserted = insert_new(connection, spans, ordered, returning)
    return {(project, trace_id, bytes(digest)) for project, trace_id, digest in inserted}


def _make_due(
    connection: Connection,
    by_key: dict[Key, list[PreparedBlob]],
    existing: dict[Key, Any],
    stored: set[tuple[str, str, bytes]],
    options: StoreOptions,
) -> None:
    """Make keys due (again) whose traces got something new."""
    changes = []
    for key, row in sorted(existing.items()):
        new = [blob for blob in by_key[key] if (*key, blob.digest) in stored]
        if not new:
            continue
        ready = due_at(new, row.first_received, options)
        if row.derived_version:  # late: wait for its companions, not for a minute since the first
            straggler = timedelta(seconds=options.root_delay_s)
            ready = min(
                item.received_at if item.blob.complete else item.received_at + straggler
                for item in new
            )
        changes.append(
            {
                "key_project": key[0],
                "key_trace_id": key[1],
                "due_at": ready if row.due_at is None else min(ready, row.due_at),
                "version": row.version + len({blob.digest for blob in new}),
            }
        )
    if changes:
        connection.execute(
            update(trace_keys).where(
                trace_keys.c.project == bindparam("key_project"),
                trace_keys.c.trace_id == bindparam("key_trace_id"),
            ),
            changes,
        )


_LOG: Final = logging.getLogger(__name__)
QUEUE: Final = "assembly"
LOOK_EVERY_S: Final = 1.0
"""How often the backlog is counted. Counting reads one entry of an index for each that waits."""


class AssemblyBacklog:
    """What waits to be assembled, as far as it was last looked at.

    Args:
        look: Counts it.
        bound: Traces that may wait; 0: any number.
    """

    def __init__(self, look: Callable[[], Assembling], bound: int) -> None:
        self._look = look
        self._bound = bound
        self._looked_at: float | None = None
        self._full = False

    @property
    def full(self) -> bool:
        """Whether nothing more is taken in until some of it is assembled."""
        return self._full

    def refresh(self) -> None:
        """Look again, if that was not done just now."""
        now = time.monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        try:
            waiting = self._look()
        except StoreError as error:  # what is written next says so aloud
            _LOG.debug("the backlog of assembly is not known: %s", error)
            self.forget()
            return
        telemetry.waiting(QUEUE, waiting.traces, waiting.oldest_s)
        full = 0 < self._bound <= waiting.traces
        if full != self._full:
            _LOG.warning(
                "%d traces wait to be assembled: %s",
                waiting.traces,
                "no more are taken in, senders are told to try again" if full else "taken in again",
            )
        self._full = full

    def forget(self) -> None:
        """Say nothing of it any more: the database cannot be asked."""
        telemetry.not_waiting(QUEUE)

    def admit(self, count: int) -> None:
        """Raise `QueueFull`, counting what is refused, while too much waits."""
        if self._full:
            telemetry.dropped("store", "assembly_behind", count)
            raise QueueFull(
                "{most} traces or more wait to be assembled; nothing was stored, send it again "
                "later",
                most=self._bound,
            )
