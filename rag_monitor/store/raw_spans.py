"""Blobs to rows: what one group commit writes.

A blob is stored once per (project, trace, SHA-256 of its payload), so that a resent request changes
nothing. `trace_keys` fixes the day of a trace and knows when it is due to be derived.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from rag_monitor.domain.ports import IngestBatch, SpanBlob
from rag_monitor.store.bulk import Key, chunks, insert_new
from rag_monitor.store.compression import compress
from rag_monitor.store.options import StoreOptions
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
    known = _lock_known(connection, [key for key in by_key if key not in fresh])
    days.update({key: row.day for key, row in known.items()})
    stored = _insert_spans(connection, blobs, days)
    _touch_known(connection, by_key, known, stored, options)
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
    found = insert_new(connection, trace_keys, rows, returning)
    return {(project, trace_id): day for project, trace_id, day in found}


def _lock_known(connection: Connection, keys: Iterable[Key]) -> dict[Key, Any]:
    found = {}
    for project, trace_ids in chunks(keys):
        statement = (
            select(trace_keys)
            .where(trace_keys.c.project == project, trace_keys.c.trace_id.in_(trace_ids))
            .order_by(trace_keys.c.trace_id)
            .with_for_update()
        )
        for row in connection.execute(statement):
            found[row.project, row.trace_id] = row
    return found


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
    found = insert_new(connection, spans, ordered, returning)
    return {(project, trace_id, bytes(digest)) for project, trace_id, digest in found}


def _touch_known(
    connection: Connection,
    by_key: dict[Key, list[PreparedBlob]],
    known: dict[Key, Any],
    stored: set[tuple[str, str, bytes]],
    options: StoreOptions,
) -> None:
    """Make keys due (again) whose traces got something new."""
    changes = []
    for key, row in sorted(known.items()):
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
