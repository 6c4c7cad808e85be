"""What was put off by a clock that was ahead, once it was set back.

Without this, traces taken in while the clock was days ahead would be looked at days from now.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select, update

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


class SetBack:
    """Finds moments that lie too far ahead to be meant, and makes them now."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._database = database
        longest = max(options.rootless_delay_s, options.root_delay_s, options.claim_s)
        self._traces = max(_LEAST, timedelta(seconds=longest * _MARGIN))

    def mend(self, now: datetime, longest_s: float) -> int:
        """Make due what was put off too far; returns how many rows that were.

        Args:
            now: The time.
            longest_s: The longest that a task is claimed for, or waits to be tried again.
        """
        tasks = max(_LEAST, timedelta(seconds=longest_s * _MARGIN))
        state = evaluation_tasks.c.state
        waiting = and_(state == "waiting", _late(evaluation_tasks, now, tasks))
        leased = and_(state == "leased", evaluation_tasks.c.lease_until > now + tasks)
        unsent = and_(outbox.c.state == "waiting", _late(outbox, now, _LONGEST_ASKED))
        steps: Sequence[tuple[Table, Any, dict[str, datetime]]] = (
            (trace_keys, trace_keys.c.due_at > now + self._traces, {"due_at": now}),
            (evaluation_tasks, waiting, {"not_before": now}),
            (evaluation_tasks, leased, {"lease_until": now}),
            (outbox, unsent, {"not_before": now}),
        )
        with self._database.read() as connection:
            found = [
                step
                for step in steps
                if connection.execute(select(step[0].c.project).where(step[1]).limit(1)).first()
            ]
        if not found:
            return 0

        def work(connection: Connection) -> int:
            return sum(
                connection.execute(update(table).where(which).values(**moments)).rowcount
                for table, which, moments in found
            )

        return self._database.transact(work)


def _late(table: Table, now: datetime, tried: timedelta) -> ColumnElement[bool]:
    """Rows that wait too long: more than a moment before their first try, `tried` after one."""
    fresh = and_(table.c.attempts == 0, table.c.not_before > now + _SKEW)
    return or_(fresh, table.c.not_before > now + tried)
