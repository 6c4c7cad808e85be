"""The right to erasure: everything of one user, and nothing of anybody else."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Text, delete, select, text, type_coerce

from rag_monitor.domain.stored import ErasureReport
from rag_monitor.store import dirty
from rag_monitor.store.engine import Database
from rag_monitor.store.evidence import chunks
from rag_monitor.store.tables import (
    decisions,
    evaluation_tasks,
    feedback,
    hits,
    outbox,
    passages,
    replies,
    retrievals,
    scores,
    spans,
    trace_keys,
    traces,
)
from rag_monitor.store.trace_rows import minute_of
from rag_monitor.store.types import dump_json

OF_TRACE: Final = (
    spans,
    retrievals,
    hits,
    scores,
    decisions,
    evaluation_tasks,
    traces,
    trace_keys,
)
"""Tables whose rows belong to one trace, the key last."""
_STREAM: Final = 1000


def erase_user(database: Database, project: str, user_id: str, now: datetime) -> ErasureReport:
    """Erase a user. Passages left by an interruption between the two transactions age out."""
    removed, candidates = database.transact(
        lambda connection: _erase_traces(database, connection, project, user_id, now)
    )
    passages_removed = database.transact(
        lambda connection: _erase_passages(database, connection, project, set(candidates))
    )
    return ErasureReport(**removed, passages=passages_removed)


def _erase_traces(
    database: Database, connection: Connection, project: str, user_id: str, now: datetime
) -> tuple[dict[str, int], set[str]]:
    mine = (traces.c.project == project, traces.c.user_id == user_id)
    columns = (traces.c.trace_id, traces.c.app, traces.c.started_at, traces.c.passages)
    rows = connection.execute(select(*columns).where(*mine)).all()
    ids = [row.trace_id for row in rows]
    removed = {"traces": len(ids), "feedback": 0, "replies": 0, "outbox": 0}
    removed["feedback"] += _delete(
        connection, feedback, feedback.c.project == project, feedback.c.author == user_id
    )
    for name, part in chunks((project, trace_id) for trace_id in ids):
        for table in (feedback, replies):
            removed[table.name] += _delete(
                connection, table, table.c.project == name, table.c.trace_id.in_(part)
            )
        removed["outbox"] += _erase_outbox(connection, name, part)
        for table in reversed(OF_TRACE):  # keys first, as every other transaction locks them
            _delete(connection, table, table.c.project == name, table.c.trace_id.in_(part))
    minutes = {(project, row.app, minute_of(row.started_at)) for row in rows}
    dirty.mark(database, connection, minutes, now)
    return removed, {digest for row in rows for digest in row.passages}


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


def _erase_passages(
    database: Database, connection: Connection, project: str, candidates: set[str]
) -> int:
    """Delete the passages among `candidates` that no trace of the project names any more."""
    if not candidates:
        return 0
    if database.is_postgresql:
        # A trace that is being saved must not come to name a passage while we decide.
        connection.execute(text("LOCK TABLE passages IN SHARE ROW EXCLUSIVE MODE"))
    named = connection.execute(
        select(traces.c.passages).where(traces.c.project == project),
        execution_options={"yield_per": _STREAM},
    )
    for digests in named.scalars():
        candidates.difference_update(digests)
        if not candidates:
            named.close()
            return 0
    removed = 0
    for name, part in chunks((project, digest) for digest in candidates):
        removed += _delete(
            connection, passages, passages.c.project == name, passages.c.sha256.in_(part)
        )
    return removed


def _delete(connection: Connection, table: Any, *conditions: Any) -> int:
    return connection.execute(delete(table).where(*conditions)).rowcount
