"""What people said about traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.feedback import Feedback
from rag_monitor.store import dirty
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import feedback, traces
from rag_monitor.store.trace_rows import minute_of

_COLUMNS = (
    "project",
    "trace_id",
    "value",
    "metric",
    "statement",
    "comment",
    "author",
    "created_at",
)


class FeedbackMarks:
    """All marks, also those that were changed later; `for_traces` returns the newest of each."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def add(self, mark: Feedback) -> None:
        """Keep a mark. The trace may not be there yet: feedback can overtake it."""

        def work(connection: Connection) -> None:
            row = {name: getattr(mark, name) for name in _COLUMNS}
            connection.execute(self._database.insert(feedback), [row])
            found = connection.execute(
                select(traces.c.app, traces.c.started_at).where(
                    traces.c.project == mark.project, traces.c.trace_id == mark.trace_id
                )
            ).first()
            if found is not None:
                minute = (mark.project, found.app, minute_of(found.started_at))
                dirty.mark(self._database, connection, [minute], self._clock.now())

        self._database.transact(work)

    def for_traces(self, project: str, trace_ids: Sequence[str]) -> dict[str, list[Feedback]]:
        """The newest mark of each person on each thing, by trace id."""
        with self._database.read() as connection:
            return load_feedback(connection, project, trace_ids)

    def between(self, project: str, since: datetime, until: datetime) -> list[Feedback]:
        """Marks made in [since, until), oldest first."""
        statement = (
            select(feedback)
            .where(
                feedback.c.project == project,
                feedback.c.created_at >= since,
                feedback.c.created_at < until,
            )
            .order_by(feedback.c.created_at, feedback.c.id)
        )
        with self._database.read() as connection:
            return [_load(row) for row in connection.execute(statement)]


def load_feedback(
    connection: Connection, project: str, trace_ids: Sequence[str]
) -> dict[str, list[Feedback]]:
    """The newest mark of each person on each thing, by trace id."""
    newest: dict[tuple[Any, ...], Feedback] = {}
    statement = (
        select(feedback)
        .where(feedback.c.project == project, feedback.c.trace_id.in_(list(trace_ids)))
        .order_by(feedback.c.created_at, feedback.c.id)
    )
    for row in connection.execute(statement):
        # Marks without an author may be of different people: each counts.
        person = row.author if row.author is not None else row.id
        newest[row.trace_id, row.metric, row.statement, person] = _load(row)
    found: dict[str, list[Feedback]] = defaultdict(list)
    for mark in newest.values():
        found[mark.trace_id].append(mark)
    return dict(found)


def _load(row: Any) -> Feedback:
    return Feedback(**{name: row._mapping[name] for name in _COLUMNS})
