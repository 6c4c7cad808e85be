"""What a change of traces means for rollups: minutes to compute again, and counts until then.

Marks on minutes are set inside the transaction that changed them. Adding a minute up takes a while,
and a busy one is added up again and again. Until then rows of their own count the traces that came
since, so that nothing is nowhere: whoever adds the minute up takes away the rows that it has seen.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from rag_monitor.domain.rollup import LATE_MOMENT, TRACES_METRIC, Rollup, RollupKey, is_history
from rag_monitor.store import bulk, rollup_tiers
from rag_monitor.store.rollup_rows import dump_rollup
from rag_monitor.store.tables import dirty_minutes, rollups
from rag_monitor.store.trace_rows import minute_of
from rag_monitor.store.types import storable_name

_BITS: Final = 62

Minute = tuple[str, str, datetime]
"""Project, app, start of the minute."""


def mark_changed(connection: Connection, minutes: Iterable[Minute], now: datetime) -> None:
    """Mark minutes as dirty. The version is random: a mark set anew never equals an old one."""
    rows = [
        {
            "project": project,
            "app": app,
            "minute": minute,
            "version": secrets.randbits(_BITS),
            "marked_at": now,
        }
        for project, app, minute in sorted(set(minutes))  # one order: no deadlocks
    ]
    bulk.upsert(connection, dirty_minutes, rows, ["version"])


_KEY_BYTES: Final = 16


class TraceCounts:
    """Counts the traces of one transaction by what rollups tell apart."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Minute, str, str, date]] = Counter()
        self._late: Counter[tuple[Minute, str, str, date]] = Counter()

    def add(self, key: Any, trace: Any, count: int) -> Minute:
        """Count a trace, or with -1 no longer; returns its minute.

        Args:
            key: Its row of `trace_keys`.
            trace: Its app, release, status and time, by these names of `traces`.
            count: 1 or -1.
        """
        started: datetime = trace.started_at
        minute = (key.project, storable_name(trace.app), minute_of(started))
        release = storable_name(trace.release or "")
        place = (minute, release, trace.status, key.day)
        self._counts[place] += count
        if is_history(started, key.first_received):
            self._late[place] += count
        return minute

    def save(self, connection: Connection, now: datetime) -> None:
        """Write the counts; blocks that hold these minutes are not read until they are built."""
        token = secrets.randbits(_BITS)
        rows = []
        for place, count in sorted(self._counts.items()):
            (project, app, minute), release, status, day = place
            late = self._late[place]
            if not count and not late:  # a new revision of what was there
                continue
            rollup = Rollup(
                key=RollupKey(
                    project=project,
                    app=app,
                    metric=TRACES_METRIC,
                    minute=minute,
                    release=release,
                    dimension=status,
                ),
                count=count,
                moments={LATE_MOMENT: float(late)} if late else {},
            )
            key = {"key": secrets.token_bytes(_KEY_BYTES), "arrived": day, "added": token}
            rows.append(dump_rollup(rollup) | key)
        bulk.insert(connection, rollups, rows)
        rollup_tiers.invalidate(connection, {place[0] for place in self._counts}, now)
