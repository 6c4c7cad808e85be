"""What of the topics is made again or taken away when traces or marks change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from sqlalchemy import Connection, delete, exists, select, update

from rag_monitor.domain.topic import NO_TOPIC
from rag_monitor.store.bulk import chunks
from rag_monitor.store.topic_tables import topic_days, topics, trace_topics


def add_up_again(connection: Connection, project: str, app: str, day: date) -> None:
    """Have the worker make the sums of a day again, where there are any."""
    connection.execute(
        update(topic_days)
        .where(
            topic_days.c.project == project,
            topic_days.c.app == app,
            topic_days.c.date == day,
            topic_days.c.topic == NO_TOPIC,  # the mark of the whole day
        )
        .values(stale=True)
    )


def topics_of(
    connection: Connection, project: str, trace_ids: Sequence[str]
) -> set[tuple[str, int]]:
    """Application and id of the topics that these traces have."""
    named: set[tuple[str, int]] = set()
    for name, ids in chunks((project, trace_id) for trace_id in trace_ids):
        statement = select(trace_topics.c.app, trace_topics.c.topic).where(
            trace_topics.c.project == name,
            trace_topics.c.trace_id.in_(ids),
            trace_topics.c.topic != NO_TOPIC,
        )
        named.update((row.app, row.topic) for row in connection.execute(statement.distinct()))
    return named


def forget_empty(
    connection: Connection, project: str, candidates: Collection[tuple[str, int]]
) -> None:
    """Delete those topics that no trace has any more: their names are words of erased questions."""
    for app, topic in sorted(candidates):
        has_traces = exists().where(
            trace_topics.c.project == project,
            trace_topics.c.app == app,
            trace_topics.c.topic == topic,
        )
        connection.execute(
            delete(topics).where(
                topics.c.project == project,
                topics.c.app == app,
                topics.c.id == topic,
                ~has_traces,
            )
        )
