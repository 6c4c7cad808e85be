"""Which days' traces retention has deleted, and which rollups outlive them.

A minute is computed anew from the traces it still has. What arrived on a day that is gone stands in
its sums only: the rows of such a day stay as they are, and what came later is counted beside them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from rag_monitor.domain.rollup import LATE_MOMENT, TRACES_METRIC
from rag_monitor.store.bulk import chunks
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import forgotten, rollups, scores

EVERY_APP: Final = ""
"""Stands for all applications."""


@dataclass(frozen=True, slots=True)
class PurgeHorizon:
    """The days before which traces are gone, by application."""

    days: Mapping[str, date]

    def before(self, app: str) -> date | None:
        """Traces of the app that arrived before this day are gone, or are going; None: none are."""
        horizons = [self.days[name] for name in (EVERY_APP, app) if name in self.days]
        return max(horizons, default=None)


def load(connection: Connection, today: date) -> PurgeHorizon:
    """What was forgotten by now. A day to come was written under a wrong clock, and is ignored."""
    rows = connection.execute(select(forgotten.c.app, forgotten.c.before))
    return PurgeHorizon({app: before for app, before in rows if before <= today})


def advance(database: Database, app: str, before: date, today: date) -> None:
    """Write down that traces of days before `before` will be deleted: before the first of them is.

    A policy that keeps more from now on brings nothing back, so the day never goes back but from
    one to come.
    """
    mine = forgotten.c.app == app

    def write(connection: Connection) -> None:
        stored = connection.execute(select(forgotten.c.before).where(mine)).scalar_one_or_none()
        if stored is not None and before <= stored <= today:
            return
        statement = database.insert(forgotten).values(app=app, before=before)
        changed = {"before": statement.excluded.before}
        connection.execute(statement.on_conflict_do_update(index_elements=["app"], set_=changed))

    database.transact(write)


def counted_before(
    connection: Connection, project: str, trace_ids: Collection[str], before: date
) -> set[str]:
    """Which of these traces came once more after they had been forgotten, as an import run again.

    Scores outlive their traces: a score of a day that is gone says that the rows of that day count
    the trace.
    """
    counted: set[str] = set()
    for _, part in chunks((project, trace_id) for trace_id in trace_ids):
        counted.update(
            connection.execute(
                select(scores.c.trace_id)
                .where(
                    scores.c.project == project,
                    scores.c.trace_id.in_(part),
                    scores.c.day < before,
                )
                .distinct()
            ).scalars()
        )
    return counted


def replaceable(
    connection: Connection, project: str, app: str, minutes: Sequence[datetime], before: date | None
) -> ColumnElement[bool]:
    """Which rollups of these minutes of an app are computed anew: a condition on `rollups`.

    Rows of earlier releases do not say when their traces arrived. They are taken to have arrived on
    the day of their minute, unless they tell of history that was imported.
    """
    place = (rollups.c.project == project, rollups.c.app == app)
    these = rollups.c.minute.in_(minutes)
    if before is None:
        return and_(*place, these)
    lasting = _live_of_old(connection, place, [at for at in minutes if at.date() < before])
    undated = [at for at in minutes if at not in lasting]
    # The minutes stand before the alternatives, or SQLite would read all rollups of the app.
    undated_too = and_(rollups.c.minute.in_(undated), rollups.c.arrived.is_(None))
    return and_(*place, these, or_(rollups.c.arrived >= before, undated_too))


def _live_of_old(
    connection: Connection, place: Iterable[Any], minutes: Sequence[datetime]
) -> set[datetime]:
    """Minutes of earlier releases whose traces all arrived soon after they began."""
    if not minutes:
        return set()
    late: dict[datetime, float] = defaultdict(float)
    for minute, moments in connection.execute(
        select(rollups.c.minute, rollups.c.moments).where(
            *place,
            rollups.c.minute.in_(minutes),
            rollups.c.metric == TRACES_METRIC,
            rollups.c.arrived.is_(None),
        )
    ):
        late[minute] += moments.get(LATE_MOMENT, 0.0)
    return {minute for minute, count in late.items() if not count}
