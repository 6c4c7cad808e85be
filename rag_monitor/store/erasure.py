"""The right to erasure: everything of one user, and nothing of anybody else."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Delete, Text, Update, delete, select, type_coerce, update

from rag_monitor.domain.stored import ErasureReport
from rag_monitor.store import rollup_changes, session_outcomes, topic_changes
from rag_monitor.store.bulk import chunks
from rag_monitor.store.document_counts import forget
from rag_monitor.store.document_tables import document_uses
from rag_monitor.store.engine import Database
from rag_monitor.store.feedback_tables import reported_session_scores
from rag_monitor.store.incident_tables import incident_examples
from rag_monitor.store.session_tables import session_verdicts
from rag_monitor.store.tables import (
    audit,
    decisions,
    evaluation_tasks,
    faults,
    feedback,
    hits,
    label_claims,
    outbox,
    passages,
    replies,
    reported_scores,
    retrievals,
    scores,
    spans,
    trace_keys,
    trace_topics,
    traces,
)
from rag_monitor.store.trace_rows import minute_of
from rag_monitor.store.types import dump_json, storable_name

OF_TRACE: Final = (
    spans,
    retrievals,
    hits,
    scores,
    decisions,
    faults,
    document_uses,
    incident_examples,
    trace_topics,
    label_claims,
    evaluation_tasks,
    traces,
    trace_keys,
)
"""Tables whose rows belong to one trace, the key last."""
ERASED_AT_ONCE: Final = 500
"""Traces per transaction."""
IN_DOUBT: Final = date(1, 1, 1)
"""`last_day` of a passage of which it is not known whether a trace still names it."""
_COUNTED: Final = ("traces", "feedback", "reported_scores", "replies", "outbox")
_STREAM: Final = 1000


def erase_user(database: Database, project: str, user_id: str, now: datetime) -> ErasureReport:
    """Erase a user, some traces at a time, so that nobody waits long.

    Whatever interrupts it: run again, it goes on where it was. Passages that were left in doubt
    then are settled by the next run, or by retention.
    """
    removed = dict.fromkeys(_COUNTED, 0)
    while True:
        part = database.transact(
            lambda connection: _erase_traces(database, connection, project, user_id, now)
        )
        for name, count in part.items():
            removed[name] += count
        if part["traces"] < ERASED_AT_ONCE:
            return ErasureReport(**removed, passages=settle_passages(database, project))


def _erase_traces(
    database: Database, connection: Connection, project: str, user_id: str, now: datetime
) -> dict[str, int]:
    mine = (traces.c.project == project, traces.c.user_id == user_id)
    names = ("trace_id", "app", "started_at", "session_id", "passages")
    columns = [traces.c[name] for name in names]
    rows = connection.execute(select(*columns).where(*mine).limit(ERASED_AT_ONCE)).all()
    ids = [row.trace_id for row in rows]
    removed = {**dict.fromkeys(_COUNTED, 0), "traces": len(ids)}
    removed["feedback"] += _delete(
        connection, feedback, feedback.c.project == project, feedback.c.author == user_id
    )
    _delete(
        connection, label_claims, label_claims.c.project == project,
        label_claims.c.reviewer == user_id,
    )  # fmt: skip
    _forget_reviewer(connection, project, user_id)
    topics_before = topic_changes.topics_of(connection, project, ids)
    forget(database, connection, project, ids)
    for name, part in chunks((project, trace_id) for trace_id in ids):
        for table in (feedback, reported_scores, replies):
            removed[table.name] += _delete(
                connection, table, table.c.project == name, table.c.trace_id.in_(part)
            )
        removed["outbox"] += _erase_outbox(connection, name, part)
        for table in reversed(OF_TRACE):  # keys first, as every other transaction locks them
            _delete(connection, table, table.c.project == name, table.c.trace_id.in_(part))
    for app, day in {(row.app, row.started_at.date()) for row in rows}:
        topic_changes.add_up_again(connection, project, app, day)
    topic_changes.forget_empty(connection, project, topics_before)
    sessions = [row.session_id for row in rows if row.session_id]
    minutes = {(project, row.app, minute_of(row.started_at)) for row in rows}
    minutes |= session_outcomes.forget(connection, project, sessions, now)
    for name, part in chunks((project, session_id) for session_id in sessions):
        table = reported_session_scores
        removed["reported_scores"] += _delete(
            connection, table, table.c.project == name, table.c.session_id.in_(part)
        )
        table = session_verdicts
        _delete(connection, table, table.c.project == name, table.c.session_id.in_(part))
    rollup_changes.mark_changed(connection, minutes, now)
    doubt_passages(connection, project, {digest for row in rows for digest in row.passages})
    return removed


def _forget_reviewer(connection: Connection, project: str, user_id: str) -> None:
    """Notes of marks name whoever made them; the note stays, the name goes."""
    named = dump_json({"reviewer": storable_name(user_id)})[1:-1]
    rows = connection.execute(
        select(audit.c.id, audit.c.details).where(
            audit.c.project == project,
            audit.c.action.in_(("label.mark", "fault.label")),
            type_coerce(audit.c.details, Text).contains(named, autoescape=True),
        )
    ).all()
    for row in rows:
        details = row.details | {"reviewer": None}
        connection.execute(update(audit).where(audit.c.id == row.id).values(details=details))


def _erase_outbox(connection: Connection, project: str, trace_ids: Iterable[str]) -> int:
    """Messages name a rule's worst traces; those that name an erased one go."""
    return sum(
        _delete(
            connection,
            outbox,
            outbox.c.project == project,
            type_coerce(outbox.c.body, Text).contains(dump_json(trace_id), autoescape=True),
        )
        for trace_id in trace_ids
    )


def doubt_passages(connection: Connection, project: str, digests: Iterable[str]) -> None:
    """Say of passages that traces were deleted which named them. `settle_passages` decides.

    A trace saved from now on takes the doubt away by itself: it raises the passage's day.
    """
    for name, part in chunks((project, digest) for digest in digests):
        connection.execute(
            update(passages)
            .where(passages.c.project == name, passages.c.sha256.in_(part))
            .values(last_day=IN_DOUBT)
        )


def settle_passages(database: Database, project: str) -> int:
    """Delete the passages in doubt that no trace of the project names; returns how many.

    The traces are looked through without any lock.
    """
    with database.read() as connection:
        doubted = set(
            connection.execute(
                select(passages.c.sha256).where(
                    passages.c.project == project, passages.c.last_day == IN_DOUBT
                )
            ).scalars()
        )
        named = _last_days(connection, project, doubted) if doubted else {}
    for day in sorted(set(named.values())):
        _each_chunk(
            database,
            project,
            [digest for digest, last in named.items() if last == day],
            update(passages).values(last_day=day),
        )
    unnamed = doubted - named.keys()
    return _each_chunk(database, project, unnamed, delete(passages))


def _last_days(connection: Connection, project: str, digests_in_doubt: set[str]) -> dict[str, date]:
    """The newest day of a trace that names the passage; without those that none names."""
    last_days: dict[str, date] = {}
    rows = connection.execute(
        select(traces.c.passages, traces.c.day).where(traces.c.project == project),
        execution_options={"yield_per": _STREAM},
    )
    for digests, day in rows:
        for digest in digests_in_doubt.intersection(digests):
            last_days[digest] = max(day, last_days.get(digest, day))
    return last_days


def _each_chunk(
    database: Database, project: str, digests: Iterable[str], change: Update | Delete
) -> int:
    """Change passages that are still in doubt, in small transactions; returns how many were."""
    changed = 0
    for name, part in chunks((project, digest) for digest in digests):
        statement = change.where(
            passages.c.project == name,
            passages.c.sha256.in_(part),
            passages.c.last_day == IN_DOUBT,
        )
        changed += database.transact(partial(_count, statement))
    return changed


def _count(statement: Update | Delete, connection: Connection) -> int:
    return connection.execute(statement).rowcount


def _delete(connection: Connection, table: Any, *conditions: Any) -> int:
    return connection.execute(delete(table).where(*conditions)).rowcount
