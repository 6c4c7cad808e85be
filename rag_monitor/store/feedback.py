"""What people said about traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, or_, select

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.stored import LabelledScore
from rag_monitor.store import rollup_changes
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import feedback, scores, traces
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
                rollup_changes.mark(connection, [minute], self._clock.now())

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

    def against_scores(
        self, project: str, since: datetime, until: datetime, limit: int = 2000
    ) -> list[LabelledScore]:
        """Marks made in [since, until) beside the current scores they are about.

        Marks on single statements and on the whole answer are about no score and left out; a mark
        on `faithfulness` also counts for `answer_supported`, which asks the same of the whole.

        Args:
            project: Tenant.
            since: Start, of the marks.
            until: End, of the marks.
            limit: At most this many marks, the newest.
        """
        newest = (
            select(feedback)
            .where(
                feedback.c.project == project,
                feedback.c.created_at >= since,
                feedback.c.created_at < until,
                feedback.c.metric.is_not(None),
                feedback.c.statement.is_(None),
            )
            .order_by(feedback.c.created_at.desc(), feedback.c.id.desc())
            .limit(limit)
            .subquery()
        )
        same_thing = or_(
            scores.c.metric == newest.c.metric,
            and_(newest.c.metric == "faithfulness", scores.c.metric == "answer_supported"),
        )
        statement = (
            select(
                newest.c.id,
                newest.c.author,
                newest.c.value.label("label"),
                scores.c.trace_id,
                scores.c.app,
                scores.c.metric,
                scores.c.judge,
                scores.c.value,
                scores.c.flagged,
            )
            .join(
                scores,
                and_(
                    scores.c.project == newest.c.project,
                    scores.c.trace_id == newest.c.trace_id,
                    scores.c.superseded.is_(False),
                    scores.c.value.is_not(None),
                    same_thing,
                ),
            )
            .order_by(newest.c.created_at, newest.c.id)
        )
        with self._database.read() as connection:
            return _labelled(connection.execute(statement))


def _labelled(rows: Iterable[Any]) -> list[LabelledScore]:
    """One row per score: the newest mark of each person, averaged over people."""
    marks: dict[tuple[str, str, str], dict[object, float]] = defaultdict(dict)
    found: dict[tuple[str, str, str], Any] = {}
    for row in rows:
        key = (row.trace_id, row.metric, row.judge)
        person = row.author if row.author is not None else row.id
        marks[key][person] = row.label
        found[key] = row
    return [
        LabelledScore(
            trace_id=row.trace_id,
            app=row.app,
            metric=row.metric,
            judge=row.judge,
            value=row.value,
            flagged=row.flagged,
            label=sum(marks[key].values()) / len(marks[key]),
        )
        for key, row in found.items()
    ]


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
