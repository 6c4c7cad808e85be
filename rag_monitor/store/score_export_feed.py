"""Scores in the order they were made, for whoever passes them on, and how far that has come."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, Executable, false, func, select, update

from rag_monitor.domain.stored import PlacedScore
from rag_monitor.store.engine import Database
from rag_monitor.store.score_rows import load_score
from rag_monitor.store.tables import marks, scores

_EVERYBODY = ""
"""The marks here are the installation's, not a project's."""


def moved_mark(database: Database, name: str, at: datetime) -> Executable:
    """What moves a mark on to `at`, and never back."""
    statement = database.insert(marks).values(project=_EVERYBODY, name=name, at=at)
    moved: Executable = statement.on_conflict_do_update(
        index_elements=["project", "name"],
        set_={"at": statement.excluded.at},
        where=marks.c.at < statement.excluded.at,
    )
    return moved


class FreshScores:
    """Reads new scores of all projects; remembers marks by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def mark(self, name: str, default: datetime) -> datetime:
        """Up to when scores have been dealt with; set to `default` the first time."""

        def work(connection: Connection) -> datetime:
            row = {"project": _EVERYBODY, "name": name, "at": default}
            connection.execute(self._database.insert(marks).on_conflict_do_nothing(), [row])
            wanted = select(marks.c.at).where(marks.c.project == _EVERYBODY, marks.c.name == name)
            found: datetime = connection.execute(wanted).scalar_one()
            return found

        return self._database.transact(work)

    def advance(self, name: str, at: datetime) -> None:
        """Move a mark; it never goes back, whoever else moves it."""
        statement = moved_mark(self._database, name, at)
        self._database.transact(lambda connection: connection.execute(statement))

    def rewind(self, name: str, at: datetime) -> None:
        """Put a mark back that a wrong clock has moved ahead."""
        statement = update(marks).where(
            marks.c.project == _EVERYBODY, marks.c.name == name, marks.c.at > at
        )
        self._database.transact(lambda connection: connection.execute(statement.values(at=at)))

    def between(self, after: datetime, until: datetime, limit: int) -> list[PlacedScore]:
        """Current scores made after `after` and no later than `until`, oldest first.

        About `limit` of them: scores of the same microsecond are never torn apart, so that the time
        of the last one is a mark.
        """
        made = scores.c.created_at
        wanted = (made > after, made <= until, scores.c.superseded == false())
        first = select(made).where(*wanted).order_by(made).limit(limit).subquery()
        with self._database.read() as connection:
            last = connection.execute(select(func.max(first.c.created_at))).scalar_one()
            if last is None:
                return []
            columns = [column for column in scores.c if column.name != "verdicts"]
            rows = connection.execute(
                select(*columns)
                .where(made > after, made <= last, scores.c.superseded == false())
                .order_by(made, scores.c.trace_id, scores.c.metric, scores.c.judge)
            ).all()
        return [
            PlacedScore(
                project=row.project, trace_id=row.trace_id, app=row.app, score=load_score(row)
            )
            for row in rows
        ]
