"""Saving what was derived from evidence: the trace, its revision, and the work it makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, delete, select, update

from rag_monitor.domain.rollup import is_history
from rag_monitor.domain.stored import PendingTrace
from rag_monitor.domain.trace import Trace
from rag_monitor.store import bulk, question_index, rollup_changes
from rag_monitor.store.bulk import Key, chunks
from rag_monitor.store.rollup_changes import TraceCounts
from rag_monitor.store.tables import (
    evaluation_tasks,
    faults,
    hits,
    passages,
    retrievals,
    scores,
    trace_keys,
    trace_topics,
    traces,
)
from rag_monitor.store.trace_rows import TraceRows, dated, to_rows


class _KeyRow(NamedTuple):
    """What is needed of a row of `trace_keys`."""

    project: str
    trace_id: str
    day: date
    first_received: datetime
    version: int
    derived_version: int
    bulk: bool


_KEY_COLUMNS: Final = tuple(trace_keys.c[name] for name in _KeyRow._fields)


@dataclass(slots=True)
class _Changes:
    """Rows of all traces that changed, gathered so that each table is written once."""

    traces: list[dict[str, Any]] = field(default_factory=list)
    retrievals: list[dict[str, Any]] = field(default_factory=list)
    hits: list[dict[str, Any]] = field(default_factory=list)
    passages: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    replaced: list[Key] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    minutes: set[rollup_changes.Minute] = field(default_factory=set)
    counts: TraceCounts = field(default_factory=TraceCounts)

    def add(self, rows: TraceRows, key: _KeyRow, before: Any, now: datetime) -> None:
        """One new or changed trace.

        Args:
            rows: The trace.
            key: Its row of `trace_keys`.
            before: Its row of `traces` until now.
            now: When its evaluation was asked for.
        """
        project, trace_id, day = key.project, key.trace_id, key.day
        revision = 1 if before is None else before.revision + 1
        extra = {"day": day, "revision": revision, "content_hash": rows.content_hash}
        self.traces.append(rows.trace | extra)
        self.retrievals += dated(rows.retrievals, day)
        self.hits += dated(rows.hits, day)
        for digest, content in rows.passages.items():
            passage = self.passages.get((project, digest))
            if passage is None:
                row = {"project": project, "sha256": digest, "content": content, "last_day": day}
                self.passages[project, digest] = row
            elif passage["last_day"] < day:
                passage["last_day"] = day
        if before is not None:
            self.replaced.append((project, trace_id))
            self.minutes.add(self.counts.add(key, before._mapping, -1))
        self.minutes.add(self.counts.add(key, rows.trace, 1))
        history = is_history(rows.trace["started_at"], key.first_received)
        self.tasks.append(
            {
                "project": project,
                "trace_id": trace_id,
                "day": day,
                "revision": revision,
                "state": "waiting",
                "forced": False,
                "bulk": key.bulk or history,
                "created_at": now,
                "not_before": now,
            }
        )


Prepared = tuple[PendingTrace, TraceRows | None]
"""What was derived, as rows; None: not a counted request."""


def prepare(derived: Sequence[tuple[PendingTrace, Trace | None]]) -> list[Prepared]:
    """Cut traces into rows. Costs CPU and touches nothing else: no transaction waits for it."""
    return [
        (
            pending,
            None
            if trace is None
            else to_rows(trace, pending.project, pending.trace_id, pending.received_at),
        )
        for pending, trace in derived
    ]


def save(
    connection: Connection,
    prepared: Sequence[Prepared],
    now: Callable[[], datetime],
) -> int:
    """Save derived traces; returns how many are new or changed.

    Locks the keys first, so that two derivations of one trace follow one another and the second
    finds that nothing changed.
    """
    moment = now()
    keys = _lock(connection, [(pending.project, pending.trace_id) for pending, _ in prepared])
    before = _existing(connection, {k: row for k, row in keys.items() if row.derived_version})
    changes = _Changes()
    for pending, rows in prepared:
        key = (pending.project, pending.trace_id)
        row = keys.get(key)
        if rows is None or row is None:  # not a counted request; or erased meanwhile
            continue
        if pending.version < row.derived_version:  # a stalled claim: others saw more by now
            continue
        old = before.get(key)
        if old is None or old.content_hash != rows.content_hash:
            changes.add(rows, row, old, moment)
    _write(connection, changes, moment)
    _mark_derived(connection, [pending for pending, _ in prepared], keys)
    return len(changes.traces)


def _lock(connection: Connection, keys: Sequence[Key]) -> dict[Key, _KeyRow]:
    locked = {}
    for project, trace_ids in chunks(keys):
        rows = bulk.rows_of(
            connection, _KEY_COLUMNS, project, trace_ids, order="trace_id", lock=True
        )
        for row in map(_KeyRow._make, rows):
            locked[project, row.trace_id] = row
    return locked


def _existing(connection: Connection, keys: dict[Key, _KeyRow]) -> dict[Key, Any]:
    existing = {}
    for project, trace_ids in chunks(keys):
        statement = select(
            traces.c.trace_id,
            traces.c.revision,
            traces.c.content_hash,
            traces.c.app,
            traces.c.release,
            traces.c.status,
            traces.c.started_at,
        ).where(
            traces.c.project == project,
            traces.c.trace_id.in_(trace_ids),
            traces.c.day.in_({keys[project, trace_id].day for trace_id in trace_ids}),
        )
        existing.update({(project, row.trace_id): row for row in connection.execute(statement)})
    return existing


def _write(connection: Connection, changes: _Changes, now: datetime) -> None:
    if not changes.traces:
        return
    _forget_older(connection, changes.replaced)
    question_index.place(connection, changes.traces)
    bulk.insert(connection, traces, changes.traces)
    bulk.insert(connection, retrievals, changes.retrievals)
    bulk.insert(connection, hits, changes.hits)
    texts = [changes.passages[key] for key in sorted(changes.passages)]
    bulk.upsert(connection, passages, texts, ["last_day"], newer="last_day")
    bulk.insert(connection, evaluation_tasks, changes.tasks)
    rollup_changes.mark_changed(connection, changes.minutes, now)
    changes.counts.save(connection, now)


def _forget_older(connection: Connection, replaced: Sequence[Key]) -> None:
    """Take the older revision out of the way: its rows, its tasks, its scores from estimates."""
    for project, trace_ids in chunks(replaced):
        for table in (traces, retrievals, hits, evaluation_tasks, faults, trace_topics):
            connection.execute(
                delete(table).where(table.c.project == project, table.c.trace_id.in_(trace_ids))
            )
        connection.execute(
            update(scores)
            .where(scores.c.project == project, scores.c.trace_id.in_(trace_ids))
            .values(superseded=True)
        )


def _mark_derived(
    connection: Connection, pending: Sequence[PendingTrace], keys: dict[Key, _KeyRow]
) -> None:
    """Not due any more, unless evidence arrived since the claim.

    Args:
        connection: A writing one.
        pending: What was derived.
        keys: Rows of `trace_keys`, locked.
    """
    seen: dict[Key, int] = defaultdict(int)
    for item in pending:
        key = (item.project, item.trace_id)
        seen[key] = max(seen[key], item.version)
    alike: dict[tuple[int, bool], list[Key]] = defaultdict(list)
    for key, version in seen.items():
        row = keys.get(key)
        if row is not None and row.derived_version <= version:
            alike[version, row.version == version].append(key)
    for (version, whole), mine in alike.items():
        values: dict[str, Any] = {"derived_version": version, "claimed_until": None}
        if whole:
            values["due_at"] = None
        for project, trace_ids in chunks(mine):
            bulk.change(connection, trace_keys, project, trace_ids, values)
