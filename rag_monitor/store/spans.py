"""Raw spans that wait to be assembled, and how they are compressed.

Blobs have the zlib format. ISA-L writes it in a quarter of zlib's time, and reads it in half.
"""

from __future__ import annotations

import logging
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from rag_monitor import telemetry
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.stored import Assembling, PendingTrace
from rag_monitor.errors import MalformedPayload
from rag_monitor.store import bulk
from rag_monitor.store.bulk import Key, chunks
from rag_monitor.store.engine import Database
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.tables import spans, trace_keys
from rag_monitor.store.trace_reads import days_of

_ZLIB_LEVEL: Final = 1
_ISAL_LEVEL: Final = 0
"""The fastest of each that compresses; ISA-L's next takes 40 % longer to gain a tenth."""


_Library = tuple[Callable[[bytes, int], bytes], int, Callable[[bytes], bytes], tuple[Any, ...]]
"""Writes, at this level; reads; raises these."""


def _library() -> _Library:
    try:
        from isal import isal_zlib
    except ImportError:  # no wheel for this machine; the format is the same
        return zlib.compress, _ZLIB_LEVEL, zlib.decompress, (zlib.error,)
    failures = (zlib.error, isal_zlib.error)
    return isal_zlib.compress, _ISAL_LEVEL, isal_zlib.decompress, failures


_compress, _level, _decompress, _failures = _library()


def compress(payload: bytes) -> bytes:
    """The payload, smaller; `decompress` gives it back."""
    return _compress(payload, _level)


def decompress(stored: bytes) -> bytes:
    """What was given to `compress`.

    Raises:
        MalformedPayload: The stored bytes are damaged.
    """
    try:
        return _decompress(stored)
    except _failures as error:
        raise MalformedPayload("stored evidence is damaged: {reason}", reason=error) from error


_LOG: Final = logging.getLogger(__name__)
_Stored = tuple[str, bytes]
"""Format and payload, as they are in the table."""
_CLAIMED: Final = tuple(
    trace_keys.c[name] for name in ("project", "trace_id", "day", "first_received", "version")
)
_EVIDENCE: Final = (spans.c.trace_id, spans.c.format, spans.c.payload)
_FORMATS: Final = {kind.value: kind for kind in BlobFormat}
_WITH_ROOTS: Final = 50
"""Traces whose evidence is held in memory at once when roots are looked for."""


class Spans:
    """Reads back what the writer stored."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._database = database
        self._options = options

    def due(self, now: datetime, limit: int = 200) -> list[PendingTrace]:
        """Traces to derive, longest due first; hidden from other callers for `claim_s` seconds."""
        ready = and_(trace_keys.c.due_at <= now, _unclaimed(now))
        return self._claim(ready, now, limit)

    def unread(self, now: datetime, arrived: datetime, limit: int = 200) -> list[PendingTrace]:
        """As `due`, of all that had come by `arrived`: claimed by others and not yet due, too."""
        waits = and_(trace_keys.c.due_at.is_not(None), trace_keys.c.first_received <= arrived)
        return self._claim(waits, now, limit)

    def assembling(self, now: datetime, project: str | None = None) -> Assembling:
        """Traces that were acknowledged and are not derived yet; None: of every project.

        Reads one entry of an index for each.
        """
        chosen = [trace_keys.c.due_at.is_not(None), trace_keys.c.derived_version == 0]
        if project is not None:
            # Not `project =`: SQLite would take the index of all keys of the project for it.
            chosen.append(func.coalesce(trace_keys.c.project, "") == project)
        statement = select(func.count(), func.min(trace_keys.c.due_at)).where(*chosen)
        with self._database.read() as connection:
            count, oldest = connection.execute(statement).one()
        late = 0.0 if oldest is None else (now - oldest).total_seconds()
        return Assembling(traces=count, oldest_s=max(0.0, late))

    def blobs(self, project: str, trace_id: str) -> tuple[tuple[BlobFormat, bytes], ...]:
        """All evidence of one trace, in order of arrival; empty when there is none."""
        with self._database.read() as connection:
            days = days_of(connection, project, [trace_id])
            stored = _load(connection, [(project, trace_id)], days)
        return _readable(trace_id, stored.get((project, trace_id), ()))

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
                stored = [(BlobFormat.OTLP.value, blob.payload) for blob in blobs]
                yield (project, trace_id), tuple(data for _, data in _readable(trace_id, stored))

    def _claim(self, which: ColumnElement[bool], now: datetime, limit: int) -> list[PendingTrace]:
        with self._database.read() as connection:  # mostly there is nothing to do
            if (
                connection.execute(select(trace_keys.c.version).where(which).limit(1)).first()
                is None
            ):
                return []
        until = now + timedelta(seconds=self._options.claim_s)
        rows, blobs = self._database.transact(
            lambda connection: _claim(connection, which, until, limit)
        )
        return [
            PendingTrace(
                project=row.project,
                trace_id=row.trace_id,
                received_at=row.first_received,
                blobs=_readable(row.trace_id, blobs.get((row.project, row.trace_id), ())),
                version=row.version,
            )
            for row in rows
        ]


def _unclaimed(now: datetime) -> ColumnElement[bool]:
    return or_(trace_keys.c.claimed_until.is_(None), trace_keys.c.claimed_until <= now)


def _claim(
    connection: Connection, which: ColumnElement[bool], until: datetime, limit: int
) -> tuple[Sequence[Any], dict[Key, list[_Stored]]]:
    """The rows of the keys that are now ours, and what is stored of them."""
    rows = connection.execute(
        select(*_CLAIMED)
        .where(which)
        .order_by(trace_keys.c.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    keys = [(row.project, row.trace_id) for row in rows]
    for project, trace_ids in chunks(keys):
        bulk.change(connection, trace_keys, project, trace_ids, {"claimed_until": until})
    return rows, _load(connection, keys, {row.day for row in rows})


def _load(
    connection: Connection, keys: Iterable[Key], days: Iterable[date]
) -> dict[Key, list[_Stored]]:
    loaded: dict[Key, list[_Stored]] = defaultdict(list)
    for project, trace_ids in chunks(keys):
        rows = bulk.rows_of(
            connection, _EVIDENCE, project, trace_ids, days, order="received_at, digest"
        )
        for trace_id, kind, payload in rows:
            loaded[project, trace_id].append((kind, payload))
    return loaded


def _readable(trace_id: str, stored: Iterable[_Stored]) -> tuple[tuple[BlobFormat, bytes], ...]:
    """What can be read of the evidence: a damaged piece must not hold up other traces."""
    readable = []
    for kind, payload in stored:
        try:
            readable.append((_FORMATS[kind], decompress(payload)))
        except MalformedPayload as error:
            _LOG.error("trace %s: %s", trace_id, error)
            telemetry.dropped("derive", "damaged")
    return tuple(readable)
