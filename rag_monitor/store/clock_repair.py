"""What was put off by a clock that was ahead, once it was set back.

Without this, traces taken in while the clock was days ahead would be looked at days from now.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select, update

from rag_monitor.domain.clock import Clock
from rag_monitor.store.engine import Database
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.tables import evaluation_tasks, outbox, trace_keys

_MARGIN: Final = 10
"""Whoever put something off may have been configured for longer than we are."""
_SKEW: Final = timedelta(minutes=1)
"""What nobody put off is not due later than now, but for clocks that differ a little."""
_LEAST: Final = timedelta(minutes=5)
_LONGEST_ASKED: Final = timedelta(hours=1)
"""A channel may ask for as long a pause."""


class _WaitedError(Exception):
    """The queries took so long that the time they compared with was no longer the time."""


class ClockRepair:
    """Finds moments that lie too far ahead to be meant, and makes them now."""

    def __init__(self, database: Database, options: StoreOptions, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        longest = max(options.rootless_delay_s, options.root_delay_s, options.claim_s)
        self._traces = max(_LEAST, timedelta(seconds=longest * _MARGIN))

    def repair(self, longest_s: float) -> int:
        """Make due what was put off too far; returns how many rows that were.

        The clock is read right beside the query: rows written by others after it was read would
        look as if they lay ahead. A query that waited (for a lock, a busy machine) proves nothing.

        Args:
            longest_s: The longest that a task is claimed for, or waits to be tried again.
        """
        with self._database.read() as connection:
            steps = self._steps(self._clock.now(), longest_s)
            if not any(_has_rows(connection, table, which) for table, which, _ in steps):
                return 0

        def work(connection: Connection) -> int:
            read_at = self._clock.monotonic()
            steps = self._steps(self._clock.now(), longest_s)
            count = sum(
                connection.execute(update(table).where(which).values(**moments)).rowcount
                for table, which, moments in steps
                if _has_rows(connection, table, which)
            )
            if self._clock.monotonic() - read_at > _SKEW.total_seconds() / 2:
                raise _WaitedError
            return count

        try:
            return self._database.transact(work)
        except _WaitedError:
            return 0

    def _steps(
        self, now: datetime, longest_s: float
    ) -> Sequence[tuple[Table, Any, dict[str, datetime]]]:
        """Each table, which of its rows lie too far ahead, and what makes them due."""
        tasks = max(_LEAST, timedelta(seconds=longest_s * _MARGIN))
        state = evaluation_tasks.c.state
        claimed = trace_keys.c.claimed_until > now + self._traces
        waiting = and_(state == "waiting", _late(evaluation_tasks, now, tasks))
        leased = and_(state == "leased", evaluation_tasks.c.lease_until > now + tasks)
        unsent = and_(outbox.c.state == "waiting", _late(outbox, now, _LONGEST_ASKED))
        return (
            (trace_keys, trace_keys.c.due_at > now + self._traces, {"due_at": now}),
            (trace_keys, and_(trace_keys.c.due_at.is_not(None), claimed), {"claimed_until": now}),
            (evaluation_tasks, waiting, {"not_before": now}),
            (evaluation_tasks, leased, {"lease_until": now}),
            (outbox, unsent, {"not_before": now}),
        )


def _has_rows(connection: Connection, table: Table, which: Any) -> bool:
    return connection.execute(select(table.c.project).where(which).limit(1)).first() is not None


def _late(table: Table, now: datetime, tried: timedelta) -> ColumnElement[bool]:
    """Rows that wait too long: more than a moment before their first try, `tried` after one."""
    fresh = and_(table.c.attempts == 0, table.c.not_before > now + _SKEW)
    return or_(fresh, table.c.not_before > now + tried)
