"""Saving what was derived from evidence: the trace, its revision, and the work it makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Table, bindparam, case, delete, select, update

from rag_monitor.domain.stored import PendingTrace
from rag_monitor.domain.trace import Trace
from rag_monitor.store import dirty, questions
from rag_monitor.store.engine import Database
from rag_monitor.store.evidence import Key, chunks
from rag_monitor.store.tables import (
    evaluation_tasks,
    hits,
    passages,
    retrievals,
    scores,
    trace_keys,
    traces,
)
from rag_monitor.store.trace_rows import TraceRows, dated, minute_of, to_rows
from rag_monitor.store.types import storable_name


@dataclass(slots=True)
class _Changes:
    """Rows of all traces that changed, gathered so that each table is written once."""

    traces: list[dict[str, Any]] = field(default_factory=list)
    retrievals: list[dict[str, Any]] = field(default_factory=list)
    hits: list[dict[str, Any]] = field(default_factory=list)
    passages: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    replaced: list[Key] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    minutes: set[dirty.Minute] = field(default_factory=set)

    def add(self, rows: TraceRows, day: date, before: Any, now: datetime) -> None:
        """One new or changed trace; `before` is its row until now."""
        project, trace_id = rows.trace["project"], rows.trace["trace_id"]
        revision = 1 if before is None else before.revision + 1
        extra = {"day": day, "revision": revision, "content_hash": rows.content_hash}
        self.traces.append(rows.trace | extra)
        self.retrievals += dated(rows.retrievals, day)
        self.hits += dated(rows.hits, day)
        for digest, content in rows.passages.items():
            row = {"project": project, "sha256": digest, "content": content, "last_day": day}
            known = self.passages.setdefault((project, digest), row)
            known["last_day"] = max(known["last_day"], day)
        if before is not None:
            self.replaced.append((project, trace_id))
            self.minutes.add((project, before.app, minute_of(before.started_at)))
        app = storable_name(rows.trace["app"])
        self.minutes.add((project, app, minute_of(rows.trace["started_at"])))
        self.tasks.append(
            {
                "project": project,
                "trace_id": trace_id,
                "day": day,
                "revision": revision,
                "state": "waiting",
                "forced": False,
                "created_at": now,
                "not_before": now,
            }
        )


def save(
    database: Database,
    connection: Connection,
    derived: Sequence[tuple[PendingTrace, Trace | None]],
    now: Callable[[], datetime],
) -> int:
    """Save derived traces; returns how many are new or changed.

    Locks the keys first, so that two derivations of one trace follow one another and the second
    finds that nothing changed.
    """
    moment = now()
    keys = _lock(connection, [(pending.project, pending.trace_id) for pending, _ in derived])
    before = _existing(connection, keys)
    changes = _Changes()
    for pending, trace in derived:
        key = (pending.project, pending.trace_id)
        row = keys.get(key)
        if trace is None or row is None:  # not a counted request; or erased meanwhile
            continue
        if pending.version < row.derived_version:  # a stalled claim: others saw more by now
            continue
        rows = to_rows(trace, *key, pending.received_at)
        old = before.get(key)
        if old is None or old.content_hash != rows.content_hash:
            changes.add(rows, row.day, old, moment)
    _write(database, connection, changes, moment)
    _mark_derived(connection, derived)
    return len(changes.traces)


def _lock(connection: Connection, wanted: Sequence[Key]) -> dict[Key, Any]:
    found = {}
    for project, trace_ids in chunks(wanted):
        statement = (
            select(trace_keys)
            .where(trace_keys.c.project == project, trace_keys.c.trace_id.in_(trace_ids))
            .order_by(trace_keys.c.trace_id)
            .with_for_update()
        )
        found.update({(project, row.trace_id): row for row in connection.execute(statement)})
    return found


def _existing(connection: Connection, keys: dict[Key, Any]) -> dict[Key, Any]:
    found = {}
    for project, trace_ids in chunks(keys):
        statement = select(
            traces.c.trace_id,
            traces.c.revision,
            traces.c.content_hash,
            traces.c.app,
            traces.c.started_at,
        ).where(
            traces.c.project == project,
            traces.c.trace_id.in_(trace_ids),
            traces.c.day.in_({keys[project, trace_id].day for trace_id in trace_ids}),
        )
        found.update({(project, row.trace_id): row for row in connection.execute(statement)})
    return found


def _write(database: Database, connection: Connection, changes: _Changes, now: datetime) -> None:
    if not changes.traces:
        return
    _forget_older(connection, changes.replaced)
    questions.index(database, connection, changes.traces)
    _insert(database, connection, traces, changes.traces)
    _insert(database, connection, retrievals, changes.retrievals)
    _insert(database, connection, hits, changes.hits)
    _keep_passages(database, connection, changes.passages)
    _insert(database, connection, evaluation_tasks, changes.tasks)
    dirty.mark(database, connection, changes.minutes, now)


def _forget_older(connection: Connection, replaced: Sequence[Key]) -> None:
    """Take the older revision out of the way: its rows, its tasks, its scores from estimates."""
    for project, trace_ids in chunks(replaced):
        for table in (traces, retrievals, hits, evaluation_tasks):
            connection.execute(
                delete(table).where(table.c.project == project, table.c.trace_id.in_(trace_ids))
            )
        connection.execute(
            update(scores)
            .where(scores.c.project == project, scores.c.trace_id.in_(trace_ids))
            .values(superseded=True)
        )


def _insert(
    database: Database, connection: Connection, table: Table, rows: list[dict[str, Any]]
) -> None:
    if rows:
        connection.execute(database.insert(table), rows)


def _keep_passages(
    database: Database, connection: Connection, found: dict[tuple[str, str], dict[str, Any]]
) -> None:
    if not found:
        return
    statement = database.insert(passages)
    statement = statement.on_conflict_do_update(
        index_elements=["project", "sha256"],
        set_={"last_day": statement.excluded.last_day},
        where=passages.c.last_day < statement.excluded.last_day,
    )
    connection.execute(statement, [found[key] for key in sorted(found)])


def _mark_derived(
    connection: Connection, derived: Sequence[tuple[PendingTrace, Trace | None]]
) -> None:
    """Not due any more, unless evidence arrived since the claim."""
    versions: dict[Key, int] = defaultdict(int)
    for pending, _ in derived:
        key = (pending.project, pending.trace_id)
        versions[key] = max(versions[key], pending.version)
    if not versions:
        return
    unchanged = trace_keys.c.version == bindparam("seen")
    connection.execute(
        update(trace_keys)
        .where(
            trace_keys.c.project == bindparam("key_project"),
            trace_keys.c.trace_id == bindparam("key_trace_id"),
            trace_keys.c.derived_version <= bindparam("seen"),
        )
        .values(
            due_at=case((unchanged, None), else_=trace_keys.c.due_at),
            derived_version=bindparam("seen"),
        ),
        [
            {"key_project": project, "key_trace_id": trace_id, "seen": version}
            for (project, trace_id), version in sorted(versions.items())
        ],
    )
