"""Evidence that waits to be derived."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from sqlalchemy import Connection, bindparam, func, select, update

from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.stored import PendingTrace
from rag_monitor.store.compression import decompress
from rag_monitor.store.engine import Database
from rag_monitor.store.evidence import Key, chunks
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.tables import spans, trace_keys
from rag_monitor.store.trace_reads import days_of

_WITH_ROOTS: Final = 50
"""Traces whose evidence is held in memory at once when roots are looked for."""


class Spans:
    """Reads back what the writer stored."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._database = database
        self._options = options

    def due(self, now: datetime, limit: int = 200) -> list[PendingTrace]:
        """Traces to derive, longest due first; hidden from other callers for `claim_s` seconds."""
        if not self._any_due(now):
            return []
        return self._database.transact(lambda connection: self._claim(connection, now, limit))

    def waiting(self) -> int:
        """Traces that are not derived yet, due or not."""
        with self._database.read() as connection:
            return connection.execute(
                select(func.count()).select_from(trace_keys).where(trace_keys.c.due_at.is_not(None))
            ).scalar_one()

    def blobs(self, project: str, trace_id: str) -> tuple[tuple[BlobFormat, bytes], ...]:
        """All evidence of one trace, in order of arrival; empty when there is none."""
        with self._database.read() as connection:
            found = _load(connection, [(project, trace_id)])
        return found.get((project, trace_id), ())

    def with_roots(self, keys: Iterable[Key]) -> Iterator[tuple[Key, tuple[bytes, ...]]]:
        """The OTLP evidence in which roots of traces are, trace by trace, read many at a time.

        In order of arrival; traces without such evidence are left out.
        """
        for project, trace_ids in chunks(keys, _WITH_ROOTS):
            with self._database.read() as connection:
                rows = connection.execute(
                    select(spans.c.trace_id, spans.c.payload)
                    .where(
                        spans.c.project == project,
                        spans.c.trace_id.in_(trace_ids),
                        spans.c.day.in_(days_of(connection, project, trace_ids)),
                        spans.c.has_root.is_(True),
                        spans.c.format == BlobFormat.OTLP.value,
                    )
                    .order_by(spans.c.trace_id, spans.c.received_at, spans.c.digest)
                ).all()
            for trace_id, blobs in groupby(rows, key=lambda row: row.trace_id):
                yield (project, trace_id), tuple(decompress(blob.payload) for blob in blobs)

    def _any_due(self, now: datetime) -> bool:
        """A look without a write transaction: mostly there is nothing to do."""
        with self._database.read() as connection:
            statement = select(trace_keys.c.version).where(trace_keys.c.due_at <= now).limit(1)
            return connection.execute(statement).first() is not None

    def _claim(self, connection: Connection, now: datetime, limit: int) -> list[PendingTrace]:
        rows = connection.execute(
            select(trace_keys)
            .where(trace_keys.c.due_at <= now)
            .order_by(trace_keys.c.due_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        ).all()
        if not rows:
            return []
        connection.execute(
            update(trace_keys)
            .where(
                trace_keys.c.project == bindparam("key_project"),
                trace_keys.c.trace_id == bindparam("key_trace_id"),
            )
            .values(due_at=now + timedelta(seconds=self._options.claim_s)),
            [{"key_project": row.project, "key_trace_id": row.trace_id} for row in rows],
        )
        blobs = _load(connection, [(row.project, row.trace_id) for row in rows])
        return [
            PendingTrace(
                project=row.project,
                trace_id=row.trace_id,
                received_at=row.first_received,
                blobs=blobs.get((row.project, row.trace_id), ()),
                version=row.version,
            )
            for row in rows
        ]


def _load(
    connection: Connection, keys: list[Key]
) -> dict[Key, tuple[tuple[BlobFormat, bytes], ...]]:
    found: dict[Key, list[tuple[BlobFormat, bytes]]] = defaultdict(list)
    for project, trace_ids in chunks(keys):
        statement = (
            select(spans.c.trace_id, spans.c.format, spans.c.payload)
            .where(spans.c.project == project, spans.c.trace_id.in_(trace_ids))
            .order_by(spans.c.received_at, spans.c.digest)
        )
        for row in connection.execute(statement):
            payload = decompress(row.payload)
            found[project, row.trace_id].append((BlobFormat(row.format), payload))
    return {key: tuple(blobs) for key, blobs in found.items()}
