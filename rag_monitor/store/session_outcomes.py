"""What sessions are counted as: which are to be counted again, and in which minute each stands.

A session stands in one minute. Whoever moves it, changes it or takes it away marks both minutes, so
that rollups follow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, and_, delete, or_, select

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.session_outcome import ChangedSession, SessionOutcome
from rag_monitor.domain.stored import ChangedMinute
from rag_monitor.store import bulk, purge_horizon, rollup_changes, session_changes
from rag_monitor.store.bulk import chunks
from rag_monitor.store.engine import Database
from rag_monitor.store.purge_horizon import PurgeHorizon
from rag_monitor.store.session_tables import changed_sessions, session_outcomes
from rag_monitor.store.sessions import load_whole

MOST_TURNS: Final = 200
"""An id of more traces is no conversation, and is not counted."""
_MINUTES: Final = 100
"""Per statement."""

_Key = tuple[str, str]
"""Project and session id."""


class SessionOutcomes:
    """Sessions as rollups count them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def changed(self, limit: int = 100) -> list[ChangedSession]:
        """Sessions to count again, longest marked first, with their turns."""
        with self._database.read() as connection:
            marked = connection.execute(
                select(changed_sessions).order_by(changed_sessions.c.marked_at).limit(limit)
            ).all()
            by_project: dict[str, list[str]] = defaultdict(list)
            for row in marked:
                by_project[row.project].append(row.session_id)
            loaded = {
                project: load_whole(connection, project, names, MOST_TURNS)
                for project, names in by_project.items()
            }
        changed = []
        for row in marked:
            session, days = loaded[row.project].get(row.session_id, (None, None))
            changed.append(
                ChangedSession(
                    project=row.project,
                    session_id=row.session_id,
                    version=row.version,
                    session=session,
                    days=days,
                )
            )
        return changed

    def replace(self, counted: Sequence[tuple[ChangedSession, SessionOutcome | None]]) -> None:
        """Write what these sessions are counted as; None: as nothing. One transaction.

        A mark that changed since it was read stays, so that the session is counted again. One whose
        mark is gone was counted by another worker meanwhile and is left alone. So is a session part
        of whose traces retention has deleted: what it was counted as is more than is left.
        """
        if counted:
            self._database.transact(
                lambda connection: _replace(connection, counted, self._clock.now())
            )

    def counted_in(self, minutes: Sequence[ChangedMinute]) -> list[SessionOutcome]:
        """The sessions that stand in those minutes.

        Those of a day whose traces retention deletes are left out: what the rollups say of such a
        day stands.
        """
        with self._database.read() as connection:
            gone = purge_horizon.load(connection, self._clock.now().date())
            loaded = [
                outcome
                for start in range(0, len(minutes), _MINUTES)
                for outcome in _standing_in(connection, minutes[start : start + _MINUTES])
            ]
        return [outcome for outcome in loaded if not _is_gone(gone, outcome.app, outcome.day)]


def forget(
    connection: Connection, project: str, session_ids: Sequence[str], now: datetime
) -> set[rollup_changes.Minute]:
    """Take back what these sessions are counted as; returns the minutes to add up again.

    What is left of them is counted anew.
    """
    names = sorted(set(session_ids))
    session_changes.mark_changed(connection, ((project, name) for name in names), now)
    old = _load(connection, [(project, name) for name in names])
    _delete(connection, list(old))
    return {_minute(outcome) for outcome in old.values()}


def _standing_in(connection: Connection, minutes: Sequence[ChangedMinute]) -> list[SessionOutcome]:
    places: dict[_Key, list[datetime]] = defaultdict(list)
    for item in minutes:
        places[item.project, item.app].append(item.minute)
    table = session_outcomes.c
    these = (
        and_(table.project == project, table.app == app, table.minute.in_(moments))
        for (project, app), moments in places.items()
    )
    rows = connection.execute(select(session_outcomes).where(or_(*these)))
    return [SessionOutcome(**row._mapping) for row in rows]


def _replace(
    connection: Connection,
    counted: Sequence[tuple[ChangedSession, SessionOutcome | None]],
    now: datetime,
) -> None:
    by_key = {(item.project, item.session_id): outcome for item, outcome in counted}
    standing = _lock(connection, list(by_key))
    before = _load(connection, list(standing))
    gone = purge_horizon.load(connection, now.date())
    changed = {
        key
        for key in standing
        if (old := before.get(key)) != by_key[key]
        and not (old is not None and _is_gone(gone, old.app, old.first_day))
    }
    _delete(connection, [key for key in changed if key in before])
    new = [outcome for key in sorted(changed) if (outcome := by_key[key]) is not None]
    bulk.insert(connection, session_outcomes, [asdict(outcome) for outcome in new])
    _clear_marks(connection, [item for item, _ in counted])
    old_ones = [before[key] for key in changed if key in before]
    rollup_changes.mark_changed(connection, map(_minute, [*old_ones, *new]), now)


def _lock(connection: Connection, keys: Sequence[_Key]) -> set[_Key]:
    """The sessions that are still marked; two workers on one follow one another."""
    table = changed_sessions.c
    marked: set[_Key] = set()
    for project, names in chunks(sorted(keys)):
        rows = connection.execute(
            select(table.session_id)
            .where(table.project == project, table.session_id.in_(names))
            .order_by(table.session_id)
            .with_for_update()
        )
        marked |= {(project, name) for name in rows.scalars()}
    return marked


def _load(connection: Connection, keys: Sequence[_Key]) -> Mapping[_Key, SessionOutcome]:
    table = session_outcomes.c
    loaded: dict[_Key, SessionOutcome] = {}
    for project, names in chunks(keys):
        rows = connection.execute(
            select(session_outcomes).where(table.project == project, table.session_id.in_(names))
        )
        loaded |= {(project, row.session_id): SessionOutcome(**row._mapping) for row in rows}
    return loaded


def _delete(connection: Connection, keys: Sequence[_Key]) -> None:
    table = session_outcomes.c
    for project, names in chunks(keys):
        connection.execute(
            delete(session_outcomes).where(table.project == project, table.session_id.in_(names))
        )


def _clear_marks(connection: Connection, items: Sequence[ChangedSession]) -> None:
    # Versions are random: among these sessions, one that is equal belongs to its session.
    table, versions = changed_sessions.c, [item.version for item in items]
    for project, names in chunks((item.project, item.session_id) for item in items):
        connection.execute(
            delete(changed_sessions).where(
                table.project == project,
                table.session_id.in_(names),
                table.version.in_(versions),
            )
        )


def _is_gone(gone: PurgeHorizon, app: str, day: Any) -> bool:
    before = gone.before(app)
    return before is not None and day < before


def _minute(outcome: SessionOutcome) -> rollup_changes.Minute:
    return (outcome.project, outcome.app, outcome.minute)
