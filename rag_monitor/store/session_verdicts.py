"""Verdicts on whole sessions: which sessions wait for one, and what was said of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, and_, func, or_, select

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.session import Session
from rag_monitor.domain.session_verdict import EndedSession, SessionVerdict
from rag_monitor.store import bulk, session_changes
from rag_monitor.store.bulk import chunks
from rag_monitor.store.engine import Database
from rag_monitor.store.session_tables import session_outcomes, session_verdicts
from rag_monitor.store.sessions import load_newest

_CHANGED: Final = tuple(column.name for column in session_verdicts.c if not column.primary_key)


class SessionVerdicts:
    """Reads and writes verdicts of all projects."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def waiting(self, since: datetime, limit: int) -> list[EndedSession]:
        """Sessions that ended since then and have no verdict as they are, the first first.

        Args:
            since: Sessions that ended before are history: nobody waits for them.
            limit: At most so many.
        """
        now = self._clock.now()
        outcome, verdict = session_outcomes.c, session_verdicts.c
        same = and_(verdict.project == outcome.project, verdict.session_id == outcome.session_id)
        is_of_now = verdict.ended == outcome.minute
        statement = (
            select(
                outcome.project,
                outcome.session_id,
                outcome.minute,
                verdict.ended,
                func.coalesce(verdict.attempts, 0).label("attempts"),
            )
            .select_from(session_outcomes.outerjoin(session_verdicts, same))
            .where(
                outcome.minute > since,
                outcome.minute <= now,
                or_(verdict.ended.is_(None), ~is_of_now, verdict.retry_at <= now),
            )
            .order_by(outcome.minute, outcome.project, outcome.session_id)
            .limit(limit)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return [
            EndedSession(
                project=row.project,
                session_id=row.session_id,
                ended=row.minute,
                attempts=row.attempts if row.ended == row.minute else 0,
            )
            for row in rows
        ]

    def read(self, ended: Sequence[EndedSession], turns: int) -> list[Session | None]:
        """Those sessions with their newest turns; None: erased, or gone with time."""
        by_key: dict[tuple[str, str], Session] = {}
        with self._database.read() as connection:
            for project, names in chunks((one.project, one.session_id) for one in ended):
                loaded = load_newest(connection, project, names, turns)
                by_key |= {(project, name): session for name, session in loaded.items()}
        return [by_key.get((one.project, one.session_id)) for one in ended]

    def save(self, verdicts: Sequence[SessionVerdict]) -> None:
        """Keep verdicts, in place of those before, and have their sessions counted again."""
        if not verdicts:
            return
        now = self._clock.now()
        by_key = {(one.project, one.session_id): one for one in verdicts}

        def write(connection: Connection) -> None:
            # One order: no deadlocks. What was erased while the judge was asked stays away.
            kept = sorted(_standing(connection, by_key))
            session_changes.mark_changed(connection, kept, now)
            rows = [asdict(by_key[key]) for key in kept]
            bulk.upsert(connection, session_verdicts, rows, _CHANGED)

        self._database.transact(write)


def _standing(connection: Connection, keys: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    table = session_outcomes.c
    for project, names in chunks(keys):
        rows = connection.execute(
            select(table.session_id).where(table.project == project, table.session_id.in_(names))
        )
        yield from ((project, name) for name in rows.scalars().all())
