"""What the worker reads and writes to give questions their topics. Only the leader does.

Traces come in the order in which they were judged: what is judged again comes again, and keeps its
topic. A cursor says how far they were dealt with; whatever is done twice has the same result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, delete, false, func, select, true, update

from rag_monitor.domain.clock import Clock
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.feedback import satisfaction_of
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.stored import Lease
from rag_monitor.domain.topic import NO_TOPIC, JudgedQuestion, TopicSums
from rag_monitor.store import bulk
from rag_monitor.store.annotations import load_feedback
from rag_monitor.store.bulk import Key, chunks
from rag_monitor.store.cursors import Cursors, advance_cursor
from rag_monitor.store.engine import Database
from rag_monitor.store.leases import require_held
from rag_monitor.store.tables import (
    faults,
    feedback,
    scores,
    topic_days,
    topic_vocabularies,
    topics,
    trace_keys,
    trace_topics,
    traces,
)
from rag_monitor.store.topic_rows import dump_sums, dump_terms, load_terms
from rag_monitor.store.trace_reads import days_of

CURSOR: Final = "topics"
_QUALITY: Final = "faithfulness"
_EVEN: Final = 0.5
_STREAM: Final = 1_000
_FACTS: Final = ("topic", "fault", "at_fault", "faithfulness", "refused", "end_to_end_ms")


@dataclass(slots=True, kw_only=True)
class KnownTopic:
    """What is known of a topic, for finding its questions."""

    id: int
    name: str
    words: Mapping[str, int]
    questions: float
    terms: Mapping[int, float]
    first_seen: datetime
    last_seen: datetime


@dataclass(slots=True, kw_only=True)
class KnownApp:
    """What is known of the topics of an application."""

    topics: dict[int, KnownTopic] = field(default_factory=dict)
    questions: float = 0.0
    last_id: int = 0
    terms: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A question with its topic."""

    question: JudgedQuestion
    topic: int
    similarity: float | None = None


class TopicFeed(Cursors):
    """See the module."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock

    def judged(self, after: datetime, until: datetime, limit: int) -> Judged:
        """Traces with a question that were judged after `after` and no later than `until`.

        Args:
            after: Where the cursor is.
            until: Late enough for all transactions before it to be over.
            limit: About so many scores; those of the same microsecond are never torn apart.
        """
        made = scores.c.created_at
        first = select(made).where(made > after, made <= until).order_by(made).limit(limit)
        with self._database.read() as connection:
            last = connection.execute(select(func.max(first.subquery().c.created_at))).scalar_one()
            if last is None:
                return Judged(until=None, questions=[], topics={})
            keys = connection.execute(
                select(scores.c.project, scores.c.trace_id)
                .where(made > after, made <= last, scores.c.superseded == false())
                .distinct()
            ).all()
            return _judged(connection, last, [(row.project, row.trace_id) for row in keys])

    def state_of(self, project: str, app: str) -> KnownApp:
        """What was saved last of an application."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(topics).where(topics.c.project == project, topics.c.app == app)
            ).all()
            vocabulary = connection.execute(
                select(topic_vocabularies).where(
                    topic_vocabularies.c.project == project, topic_vocabularies.c.app == app
                )
            ).one_or_none()
        state = KnownApp(topics={row.id: _load_known_topic(row) for row in rows})
        if vocabulary is not None:
            state.questions, state.last_id = vocabulary.questions, vocabulary.last_id
            state.terms = load_terms(vocabulary.terms)
        return state

    def waiting(self, project: str, app: str, limit: int) -> list[JudgedQuestion]:
        """The newest questions without a topic, the oldest of them first."""
        some = (
            select(*(trace_topics.c[name] for name in ("project", "trace_id", "day", "started_at")))
            .where(
                trace_topics.c.project == project,
                trace_topics.c.app == app,
                trace_topics.c.topic == NO_TOPIC,
            )
            .order_by(trace_topics.c.started_at.desc())
            .limit(limit)
        )
        with self._database.read() as connection:
            keys = [(row.project, row.trace_id) for row in connection.execute(some)]
            read = _judged(connection, None, keys).questions
        return sorted(read, key=lambda one: (one.started_at, one.trace_id))

    def save(
        self,
        project: str,
        app: str,
        state: KnownApp,
        placed: Sequence[Placed],
        gone: Iterable[int],
        *,
        lease: Lease | None = None,
    ) -> None:
        """Save what was found of an application in one transaction.

        Args:
            project: Whose.
            app: Of which application.
            state: All its topics.
            placed: Questions that were looked at.
            gone: Ids of topics that are no more; nobody names them again.
            lease: Save only while this lease is held.

        Raises:
            LeaseLost: Somebody else has the lease; nothing is saved.
        """
        now = self._clock.now()
        key = {"project": project, "app": app}
        rows = [key | _row(topic) for topic in state.topics.values()]
        vocabulary = key | {
            "questions": state.questions,
            "last_id": state.last_id,
            "terms": dump_terms(state.terms),
            "updated_at": now,
        }
        of_traces = [_placed_row(one) for one in placed]
        retired = list(gone)

        def work(connection: Connection) -> None:
            if lease is not None:
                require_held(connection, lease)
            present = _present(connection, of_traces)
            bulk.upsert(connection, topics, rows)
            bulk.upsert(connection, topic_vocabularies, [vocabulary])
            bulk.upsert(connection, trace_topics, present)
            if retired:
                of_app = (topics.c.project == project, topics.c.app == app)
                connection.execute(delete(topics).where(*of_app, topics.c.id.in_(retired)))
            # Not of those that were erased meanwhile: adding up a day without them makes it empty.
            days = {row["started_at"].date() for row in present}
            _mark_stale(self._database, connection, project, app, days)

        self._database.transact(work)

    def stale_days(self, limit: int) -> list[tuple[str, str, date]]:
        """Project, application and day whose sums are to be made again."""
        statement = (
            select(topic_days.c.project, topic_days.c.app, topic_days.c.date)
            .where(topic_days.c.stale == true())
            .distinct()
            .limit(limit)
        )
        with self._database.read() as connection:
            return [(row.project, row.app, row.date) for row in connection.execute(statement)]

    def add_up(self, project: str, app: str, day: date) -> None:
        """Make the sums of a day again, reading its questions one after another."""
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        of_day = (
            trace_topics.c.project == project,
            trace_topics.c.app == app,
            trace_topics.c.started_at >= start,
            trace_topics.c.started_at < start + timedelta(days=1),
        )
        facts = select(*(trace_topics.c[name] for name in _FACTS)).where(*of_day)
        rated = (
            select(trace_topics.c.trace_id, trace_topics.c.topic)
            .join(
                feedback,
                (feedback.c.project == trace_topics.c.project)
                & (feedback.c.trace_id == trace_topics.c.trace_id),
            )
            .where(*of_day, _RATED)
            .distinct()
        )
        this_day = (
            topic_days.c.project == project,
            topic_days.c.app == app,
            topic_days.c.date == day,
        )

        mark = {"project": project, "app": app, "date": day, "topic": NO_TOPIC}

        def work(connection: Connection) -> None:
            # First, and this row stays: who marks the day while it is read waits for it, and has it
            # added up again.
            bulk.upsert(connection, topic_days, [mark | {"sums": {}, "stale": False}])
            connection.execute(delete(topic_days).where(*this_day, topic_days.c.topic != NO_TOPIC))
            sums: dict[int, TopicSums] = {NO_TOPIC: TopicSums()}
            for row in connection.execute(facts, execution_options={"yield_per": _STREAM}):
                topic, *values = row
                given = dict(zip(_FACTS[1:], values, strict=True))
                sums.setdefault(topic, TopicSums()).add(**given)
            topic_of = {row.trace_id: row.topic for row in connection.execute(rated)}
            for trace_id, value in _ratings(connection, project, list(topic_of)):
                own = sums.setdefault(topic_of[trace_id], TopicSums())
                own.rated += 1
                own.satisfied += value
            rows = [
                {**mark, "topic": topic, "sums": dump_sums(own), "stale": False}
                for topic, own in sorted(sums.items())
            ]
            bulk.upsert(connection, topic_days, rows, ["sums"])

        self._database.transact(work)

    def finish(self, until: datetime) -> None:
        """Move the cursor on."""
        statement = advance_cursor(self._database, CURSOR, until)
        self._database.transact(lambda connection: connection.execute(statement))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was judged since."""

    until: datetime | None
    """Where the cursor is afterwards; None: nothing was judged."""
    questions: list[JudgedQuestion]
    topics: Mapping[Key, int]
    """Of those that were looked at before; `NO_TOPIC` among them."""


def _judged(connection: Connection, until: datetime | None, keys: Sequence[Key]) -> Judged:
    questions: list[JudgedQuestion] = []
    topic_of: dict[Key, int] = {}
    for project, ids in chunks(keys):
        days = days_of(connection, project, ids)
        of_traces = [
            (table.c.project == project) & table.c.trace_id.in_(ids) & table.c.day.in_(days)
            for table in _READ
        ]
        is_trace, is_fault, is_score, has_topic = of_traces
        values = select(scores.c.trace_id, scores.c.metric, scores.c.value).where(
            is_score,
            scores.c.superseded == false(),
            scores.c.status == ScoreStatus.SCORED.value,
            scores.c.metric.in_((_QUALITY, REFUSAL_METRIC)),
        )
        value_of = {
            (row.trace_id, row.metric): row.value
            for row in connection.execute(values.order_by(scores.c.created_at))
        }
        diagnosed = {
            row.trace_id: row
            for row in connection.execute(
                select(faults.c.trace_id, faults.c.fault, faults.c.probabilities)
                .where(is_fault)
                .order_by(faults.c.created_at)
            )
        }
        columns = ("project", "trace_id", "day", "app", "started_at", "question", "end_to_end_ms")
        statement = select(*(traces.c[name] for name in columns)).where(
            is_trace, traces.c.question.is_not(None)
        )
        for row in connection.execute(statement):
            fault = diagnosed.get(row.trace_id)
            questions.append(
                JudgedQuestion(
                    **row._mapping,
                    fault=None if fault is None else Fault(fault.fault),
                    at_fault=None
                    if fault is None
                    else 1 - fault.probabilities.get(Fault.NONE.value, 0.0),
                    faithfulness=value_of.get((row.trace_id, _QUALITY)),
                    refused=(value_of.get((row.trace_id, REFUSAL_METRIC)) or 0.0) >= _EVEN,
                )
            )
        placed = select(trace_topics.c.trace_id, trace_topics.c.topic).where(has_topic)
        topic_of.update(
            {(project, trace_id): topic for trace_id, topic in connection.execute(placed)}
        )
    return Judged(until=until, questions=questions, topics=topic_of)


_READ: Final = (traces, faults, scores, trace_topics)
_RATED: Final = feedback.c.kind.is_not(None)
"""Users' ratings of whole answers."""


def _ratings(
    connection: Connection, project: str, trace_ids: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """Whether users are satisfied with each answer that they rated."""
    for name, ids in chunks((project, trace_id) for trace_id in trace_ids):
        for trace_id, marks in load_feedback(connection, name, ids).items():
            satisfied = satisfaction_of(marks)
            if satisfied is not None:
                yield trace_id, satisfied


def _load_known_topic(row: Any) -> KnownTopic:
    return KnownTopic(
        id=row.id,
        name=row.name,
        words=row.words,
        questions=row.questions,
        terms=load_terms(row.terms),
        first_seen=row.first_seen,
        last_seen=row.last_seen,
    )


def _row(topic: KnownTopic) -> dict[str, Any]:
    return {
        "id": topic.id,
        "name": topic.name,
        "words": dict(topic.words),
        "questions": topic.questions,
        "terms": dump_terms(topic.terms),
        "first_seen": topic.first_seen,
        "last_seen": topic.last_seen,
    }


def _placed_row(placed: Placed) -> dict[str, Any]:
    question = placed.question
    return {
        "project": question.project,
        "trace_id": question.trace_id,
        "day": question.day,
        "app": question.app,
        "started_at": question.started_at,
        "topic": placed.topic,
        "similarity": placed.similarity,
        "fault": None if question.fault is None else question.fault.value,
        "at_fault": question.at_fault,
        "faithfulness": question.faithfulness,
        "refused": question.refused,
        "end_to_end_ms": question.end_to_end_ms,
    }


def _present(connection: Connection, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose traces were not erased meanwhile: a row must not outlive its trace."""
    present: set[Key] = set()
    for project, ids in chunks((row["project"], row["trace_id"]) for row in rows):
        statement = (
            select(trace_keys.c.trace_id)
            .where(trace_keys.c.project == project, trace_keys.c.trace_id.in_(ids))
            .order_by(trace_keys.c.trace_id)
            .with_for_update(read=True)  # erasure begins with the keys
        )
        present.update((project, trace_id) for trace_id in connection.execute(statement).scalars())
    return [row for row in rows if (row["project"], row["trace_id"]) in present]


def _mark_stale(
    database: Database, connection: Connection, project: str, app: str, days: Iterable[date]
) -> None:
    for day in sorted(days):
        row = {
            "project": project,
            "app": app,
            "date": day,
            "topic": NO_TOPIC,
            "sums": {},
            "stale": True,
        }
        connection.execute(database.insert(topic_days).on_conflict_do_nothing(), [row])
        connection.execute(
            update(topic_days)
            .where(
                topic_days.c.project == project,
                topic_days.c.app == app,
                topic_days.c.date == day,
                topic_days.c.topic == NO_TOPIC,
            )
            .values(stale=True)
        )
