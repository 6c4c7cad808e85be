"""What people and other tools said of traces: feedback, and scores that were reported."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Table, and_, or_, select

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.feedback import Feedback, satisfaction_of
from rag_monitor.domain.label import CANNOT_TELL
from rag_monitor.domain.rating import RatingKind
from rag_monitor.domain.score import ReportedScore, ReportedSessionScore
from rag_monitor.domain.stored import LabelledScore, LabelledTrace
from rag_monitor.store import rollup_changes, session_changes, topic_changes
from rag_monitor.store.bulk import chunks
from rag_monitor.store.engine import Database
from rag_monitor.store.feedback_tables import reported_session_scores
from rag_monitor.store.label_marks import newest_marks
from rag_monitor.store.tables import feedback, reported_scores, scores, traces
from rag_monitor.store.trace_reads import grouped_by_day
from rag_monitor.store.trace_rows import minute_of
from rag_monitor.store.types import storable_name

_COLUMNS = (
    "project",
    "trace_id",
    "value",
    "metric",
    "statement",
    "fault",
    "comment",
    "author",
    "created_at",
    "kind",
    "raw_value",
    "scale",
    "corrected_answer",
    "correct_document_ids",
)


class FeedbackAnnotations:
    """Marks and ratings, also those changed later; `for_traces` returns the newest of each."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def add(self, mark: Feedback) -> None:
        """Keep a mark or a rating. The trace may not be there yet: feedback can overtake it."""
        self._database.transact(lambda connection: self._insert(connection, [mark]))

    def add_new(self, marks: Sequence[Feedback]) -> list[Feedback]:
        """Keep those of a project's marks that are not stored yet, and return them.

        A mark is stored where one of the same reviewer on the same thing, made at the same moment,
        has the same value.
        """

        def work(connection: Connection) -> list[Feedback]:
            stored: set[tuple[object, ...]] = set()
            for project, ids in chunks({(mark.project, mark.trace_id) for mark in marks}):
                statement = select(feedback).where(
                    feedback.c.project == project, feedback.c.trace_id.in_(ids)
                )
                stored |= {_identity(_load(row)) for row in connection.execute(statement)}
            new = []
            for mark in marks:
                if _identity(mark) not in stored:
                    stored.add(_identity(mark))
                    new.append(mark)
            self._insert(connection, new)
            return new

        return self._database.transact(work)

    def _insert(self, connection: Connection, marks: Sequence[Feedback]) -> None:
        """Store marks, and have whatever they count in added up again."""
        if not marks:
            return
        rows = []
        for mark in marks:
            row = {name: getattr(mark, name) for name in _COLUMNS}
            row["fault"] = None if mark.fault is None else mark.fault.value
            row["kind"] = None if mark.kind is None else mark.kind.value
            row["correct_document_ids"] = list(mark.correct_document_ids) or None
            rows.append(row)
        connection.execute(self._database.insert(feedback), rows)
        about: list[Any] = []
        names = ("project", "app", "started_at", "session_id")
        for project, ids in chunks({(mark.project, mark.trace_id) for mark in marks}):
            about += connection.execute(
                select(*(traces.c[name] for name in names)).where(
                    traces.c.project == project, traces.c.trace_id.in_(ids)
                )
            )
        now = self._clock.now()
        sessions = ((trace.project, trace.session_id) for trace in about)
        session_changes.mark_changed(connection, sessions, now)
        minutes = {(trace.project, trace.app, minute_of(trace.started_at)) for trace in about}
        rollup_changes.mark_changed(connection, minutes, now)
        for project, app, day in sorted({(t.project, t.app, t.started_at.date()) for t in about}):
            topic_changes.add_up_again(connection, project, app, day)

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

    def labels(
        self,
        project: str,
        since: datetime,
        until: datetime,
        *,
        app: str | None = None,
        limit: int = 20_000,
    ) -> list[LabelledTrace]:
        """Reviewers' marks made in [since, until), oldest first, with the app of their trace.

        Args:
            project: Tenant.
            since: Start, of the marks.
            until: End, of the marks.
            app: Of traces of this app only; None: also those whose trace is gone.
            limit: At most this many, the oldest.
        """
        same = [feedback.c[name] == traces.c[name] for name in ("project", "trace_id")]
        statement = (
            select(feedback, traces.c.app)
            .select_from(feedback.join(traces, and_(*same), isouter=app is None))
            .where(
                feedback.c.project == project,
                feedback.c.created_at >= since,
                feedback.c.created_at < until,
                feedback.c.kind.is_(None),
            )
            .order_by(feedback.c.created_at, feedback.c.id)
            .limit(limit)
        )
        if app is not None:
            statement = statement.where(traces.c.app == app)
        with self._database.read() as connection:
            return [
                LabelledTrace(mark=_load(row), app=row.app) for row in connection.execute(statement)
            ]

    def newest_marks(
        self, project: str, since: datetime, until: datetime
    ) -> dict[str, dict[str, float]]:
        """What each reviewer said of what the labelling page asks, in [since, until), by trace.

        As `label_marks.newest_marks` has it.
        """
        with self._database.read() as connection:
            return newest_marks(connection, project, since=since, until=until)

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
                feedback.c.kind.is_(None),
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

    def rated_scores(
        self,
        project: str,
        since: datetime,
        until: datetime,
        *,
        app: str | None = None,
        limit: int = 2000,
    ) -> list[LabelledScore]:
        """Current scores of answers that users rated in [since, until).

        The label is 1 where the answer satisfies its users, by the newest rating of each, else 0.

        Args:
            project: Tenant.
            since: Start, of the ratings.
            until: End, of the ratings.
            app: Only of this app.
            limit: At most this many ratings, the newest.
        """
        newest = (
            select(feedback.c.trace_id)
            .where(
                feedback.c.project == project,
                feedback.c.created_at >= since,
                feedback.c.created_at < until,
                feedback.c.kind.is_not(None),
            )
            .order_by(feedback.c.created_at.desc(), feedback.c.id.desc())
            .limit(limit)
        )
        columns = ("trace_id", "app", "metric", "judge", "value", "flagged")
        rated_scores: list[LabelledScore] = []
        with self._database.read() as connection:
            rated = set(connection.execute(newest).scalars())
            for day, ids in grouped_by_day(connection, project, rated).items():
                marks = load_feedback(connection, project, ids)
                statement = select(*(scores.c[name] for name in columns)).where(
                    scores.c.project == project,
                    scores.c.trace_id.in_(ids),
                    scores.c.day == day,
                    scores.c.superseded.is_(False),
                    scores.c.value.is_not(None),
                    *([] if app is None else [scores.c.app == app]),
                )
                for row in connection.execute(statement):
                    label = satisfaction_of(marks.get(row.trace_id, ()))
                    if label is not None:
                        rated_scores.append(LabelledScore(**row._mapping, label=label))
        return rated_scores


def _identity(mark: Feedback) -> tuple[object, ...]:
    thing = (mark.metric, mark.statement, mark.fault, mark.kind)
    author = None if mark.author is None else storable_name(mark.author)
    return (mark.trace_id, *thing, author, mark.created_at, mark.value)


def _labelled(rows: Iterable[Any]) -> list[LabelledScore]:
    """One row per score: the newest mark of each person, averaged over people who could tell."""
    marks: dict[tuple[str, str, str], dict[object, float]] = defaultdict(dict)
    rows_by_score: dict[tuple[str, str, str], Any] = {}
    for row in rows:
        key = (row.trace_id, row.metric, row.judge)
        person = row.author if row.author is not None else row.id
        marks[key][person] = row.label
        rows_by_score[key] = row
    telling = {
        key: [value for value in by_person.values() if value != CANNOT_TELL]
        for key, by_person in marks.items()
    }
    return [
        LabelledScore(
            trace_id=row.trace_id,
            app=row.app,
            metric=row.metric,
            judge=row.judge,
            value=row.value,
            flagged=row.flagged,
            label=sum(telling[key]) / len(telling[key]),
        )
        for key, row in rows_by_score.items()
        if telling[key]
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
        thing = (row.metric, row.statement, row.fault is not None, row.kind is not None)
        newest[row.trace_id, *thing, person] = _load(row)
    by_trace: dict[str, list[Feedback]] = defaultdict(list)
    for mark in newest.values():
        by_trace[mark.trace_id].append(mark)
    return dict(by_trace)


def _load(row: Any) -> Feedback:
    mark = {name: row._mapping[name] for name in _COLUMNS}
    mark["fault"] = None if row.fault is None else Fault(row.fault)
    mark["kind"] = None if row.kind is None else RatingKind(row.kind)
    mark["correct_document_ids"] = tuple(row.correct_document_ids or ())
    return Feedback(**mark)


MOST_SHOWN: Final = 500
"""Of one trace; whoever sends more keeps them, but a page must stay readable."""
_REPORTED_COLUMNS: Final = tuple(field.name for field in fields(ReportedScore))


class ReportedScores:
    """Keeps what other tools say. Its rows enter no rollup, no rule and no estimate."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, scores: Sequence[ReportedScore]) -> None:
        """Keep the scores. Their traces may not be there yet: a score can overtake its trace.

        Raises:
            StoreUnavailable: It did not go through in time; nothing was kept.
        """
        self._add(reported_scores, scores)

    def add_of_sessions(self, scores: Sequence[ReportedSessionScore]) -> None:
        """The same of whole sessions, of which no trace may be there yet either."""
        self._add(reported_session_scores, scores)

    def _add(self, table: Table, scores: Sequence[ReportedScore | ReportedSessionScore]) -> None:
        newest: dict[tuple[str, ...], ReportedScore | ReportedSessionScore] = {}
        for score in scores:
            key = tuple(storable_name(part) for part in score.key)
            if key not in newest or newest[key].reported_at <= score.reported_at:
                newest[key] = score
        columns = [column.name for column in table.columns]
        # One order for all: two requests about the same traces must not wait for one another.
        rows = [{name: getattr(newest[key], name) for name in columns} for key in sorted(newest)]
        if not rows:
            return
        keys = [column.name for column in table.primary_key.columns]
        statement = self._database.insert(table)
        statement = statement.on_conflict_do_update(
            index_elements=keys,
            set_={name: statement.excluded[name] for name in columns if name not in keys},
            where=table.c.reported_at <= statement.excluded.reported_at,
        )
        with self._database.reserved():
            self._database.transact(lambda connection: connection.execute(statement, rows))


def load_reported(connection: Connection, project: str, trace_id: str) -> list[ReportedScore]:
    """What other tools say of a trace, by source and name; of very many the latest."""
    rows = connection.execute(
        select(reported_scores)
        .where(reported_scores.c.project == project, reported_scores.c.trace_id == trace_id)
        .order_by(reported_scores.c.reported_at.desc())
        .limit(MOST_SHOWN)
    )
    loaded = [_load_reported(row) for row in rows]
    return sorted(loaded, key=lambda score: (score.source, score.name, score.span_id))


def load_reported_of_session(
    connection: Connection, project: str, session_id: str
) -> list[ReportedSessionScore]:
    """The same of a session as a whole."""
    table = reported_session_scores
    rows = connection.execute(
        select(table)
        .where(table.c.project == project, table.c.session_id == session_id)
        .order_by(table.c.reported_at.desc())
        .limit(MOST_SHOWN)
    )
    loaded = [ReportedSessionScore(**row._mapping) for row in rows]
    return sorted(loaded, key=lambda score: (score.source, score.name))


def _load_reported(row: Any) -> ReportedScore:
    return ReportedScore(**{name: row._mapping[name] for name in _REPORTED_COLUMNS})
