"""Topics of questions: which trace has which, what is known of each, and what they add up to.

The worker of the leader writes (`TopicFeed`), pages read (`Topics`). Pages read sums of days; only
the questions that they show are looked up, by index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from sqlalchemy import Select, Subquery, and_, select

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.topic import NO_TOPIC, Topic, TopicQuestion, TopicSums
from rag_monitor.domain.window import Window
from rag_monitor.store.bulk import chunks
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import topic_days, topics, trace_topics, traces
from rag_monitor.store.topic_rows import load_sums, load_topic

MAX_QUESTIONS: Final = 1_000
"""That are read of one topic at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionQuery:
    """Which questions of an application."""

    project: str
    app: str
    window: Window
    topic: int | None = None
    """None: of any topic, and of none."""
    fault: Fault | None = None
    limit: int = 5
    nearest_first: bool = False
    """Those most like the centre of the topic, else the newest."""


class Topics:
    """Reads what the worker found."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_app(self, project: str, app: str) -> list[Topic]:
        """All topics of an application, by id."""
        columns = [topics.c[name] for name in ("id", "name", "first_seen", "last_seen")]
        statement = select(*columns).where(topics.c.project == project, topics.c.app == app)
        with self._database.read() as connection:
            rows = connection.execute(statement.order_by(topics.c.id))
            return [load_topic(row) for row in rows]

    def sums(self, project: str, app: str, first: date, until: date) -> dict[int, TopicSums]:
        """What the questions of each topic add up to; those of none are `NO_TOPIC`.

        Args:
            project: Whose.
            app: Of which application.
            first: UTC day on which they were asked.
            until: The day after the last one.
        """
        statement = select(topic_days.c.topic, topic_days.c.sums).where(
            topic_days.c.project == project,
            topic_days.c.app == app,
            topic_days.c.date >= first,
            topic_days.c.date < until,
        )
        sums: dict[int, TopicSums] = {}
        with self._database.read() as connection:
            for topic, dumped in connection.execute(statement):
                sums.setdefault(topic, TopicSums()).merge(load_sums(dumped))
        return {topic: own for topic, own in sums.items() if own.questions}

    def questions(self, query: QuestionQuery) -> list[TopicQuestion]:
        """Questions of traces that are stored, each wording once."""
        statement = _questions(query)
        by_wording: dict[str, TopicQuestion] = {}
        with self._database.read() as connection:
            for row in connection.execute(statement):
                question = TopicQuestion(
                    trace_id=row.trace_id,
                    question=row.question,
                    started_at=row.started_at,
                    fault=row.fault,
                )
                by_wording.setdefault(row.question, question)
        return list(by_wording.values())[: query.limit]

    def of_traces(self, project: str, trace_ids: Collection[str]) -> dict[str, int]:
        """The topic of each of these traces; those that have none are left out.

        For whoever counts traces by topic: an incident, an export. `of_app` has the names.
        """
        topic_of: dict[str, int] = {}
        with self._database.read() as connection:
            for name, part in chunks((project, trace_id) for trace_id in trace_ids):
                statement = select(trace_topics.c.trace_id, trace_topics.c.topic).where(
                    trace_topics.c.project == name,
                    trace_topics.c.trace_id.in_(part),
                    trace_topics.c.topic != NO_TOPIC,
                )
                topic_of.update((row.trace_id, row.topic) for row in connection.execute(statement))
        return topic_of


def _questions(query: QuestionQuery) -> Select[Any]:
    # Some wordings come several times: twice as many are read as are wanted.
    most = min(MAX_QUESTIONS, 2 * query.limit)
    conditions = [
        trace_topics.c.project == query.project,
        trace_topics.c.app == query.app,
        trace_topics.c.started_at >= query.window.start,
        trace_topics.c.started_at < query.window.end,
    ]
    if query.topic is not None:
        conditions.append(trace_topics.c.topic == query.topic)
    if query.fault is not None:
        conditions.append(trace_topics.c.fault == query.fault.value)
    columns = ("project", "trace_id", "day", "started_at", "fault", "similarity")
    chosen = select(*(trace_topics.c[name] for name in columns)).where(*conditions)
    # Typical ones are chosen among the newest, so that a large topic costs no more than a small.
    considered = MAX_QUESTIONS if query.nearest_first else most
    some = _first(chosen, trace_topics.c, ("started_at", "trace_id"), considered)
    order: tuple[str, ...] = ("started_at", "trace_id")
    if query.nearest_first:
        order = ("similarity", *order)
        some = _first(select(some), some.c, order, most)
    same = [traces.c[name] == some.c[name] for name in ("project", "trace_id", "day")]
    return (
        select(some.c.trace_id, some.c.started_at, some.c.fault, traces.c.question)
        .select_from(some.join(traces, and_(*same)))
        .where(traces.c.question.is_not(None))
        .order_by(*(some.c[name].desc() for name in order))
    )


def _first(rows: Select[Any], columns: Any, order: Sequence[str], most: int) -> Subquery:
    return rows.order_by(*(columns[name].desc() for name in order)).limit(most).subquery()
