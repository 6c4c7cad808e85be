"""Saving what was derived from evidence: the trace, its revision, and the work it makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, delete, select, update

from rag_monitor.domain.rollup import is_history
from rag_monitor.domain.stored import PendingTrace
from rag_monitor.domain.trace import Trace
from rag_monitor.store import bulk, question_index, rollup_changes, session_changes, trace_terms
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
from rag_monitor.store.trace_rows import (
    HIT_COLUMNS,
    RETRIEVAL_COLUMNS,
    TRACE_COLUMNS,
    TraceRows,
    to_rows,
)


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


class _Change(NamedTuple):
    """One new or changed trace."""

    rows: TraceRows
    key: _KeyRow
    received_at: datetime
    revision: int
    before: Any
    """Its row of `traces` until now; None: it is new."""


Prepared = tuple[PendingTrace, TraceRows | None]
"""What was derived, as rows; None: not a counted request."""


def prepare(derived: Sequence[tuple[PendingTrace, Trace | None]]) -> list[Prepared]:
    """Cut traces into rows. Costs CPU and touches nothing else: no transaction waits for it."""
    return [
        (
            pending,
            None if trace is None else to_rows(trace, pending.project, pending.trace_id),
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
    changes: list[_Change] = []
    for pending, rows in prepared:
        key = (pending.project, pending.trace_id)
        row = keys.get(key)
        if rows is None or row is None:  # not a counted request; or erased meanwhile
            continue
        if pending.version < row.derived_version:  # a stalled claim: others saw more by now
            continue
        old = before.get(key)
        if old is None or old.content_hash != rows.content_hash:
            revision = 1 if old is None else old.revision + 1
            changes.append(_Change(rows, row, pending.received_at, revision, old))
    _write(connection, changes, moment)
    _mark_derived(connection, [pending for pending, _ in prepared], keys)
    return len(changes)


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
            traces.c.session_id,
        ).where(
            traces.c.project == project,
            traces.c.trace_id.in_(trace_ids),
            traces.c.day.in_({keys[project, trace_id].day for trace_id in trace_ids}),
        )
        existing.update({(project, row.trace_id): row for row in connection.execute(statement)})
    return existing


def _write(connection: Connection, changes: Sequence[_Change], now: datetime) -> None:
    """Write each table once, column by column: a call per value costs more than the value."""
    if not changes:
        return
    replaced = [(c.key.project, c.key.trace_id) for c in changes if c.before is not None]
    _forget_older(connection, replaced)
    key: dict[str, Sequence[Any]] = {
        "project": [change.key.project for change in changes],
        "trace_id": [change.key.trace_id for change in changes],
        "day": [change.key.day for change in changes],
        "revision": [change.revision for change in changes],
    }
    described: dict[str, Sequence[Any]] = {
        "content_hash": [change.rows.content_hash for change in changes],
        "received_at": [change.received_at for change in changes],
        "passages": [sorted(change.rows.passages) for change in changes],
        "search": question_index.place(connection, [change.rows.search for change in changes]),
        "terms": trace_terms.place(connection, [change.rows.terms for change in changes]),
    }
    of_traces = _columns(TRACE_COLUMNS, [change.rows.trace for change in changes])
    bulk.insert_columns(connection, traces, {**key, **described, **of_traces})
    for table, names, rows_of in (
        (retrievals, RETRIEVAL_COLUMNS, attrgetter("rows.retrievals")),
        (hits, HIT_COLUMNS, attrgetter("rows.hits")),
    ):
        columns = _columns(names, [row for change in changes for row in rows_of(change)])
        days = [change.key.day for change in changes for _ in rows_of(change)]
        bulk.insert_columns(connection, table, {**columns, "day": days})
    _write_passages(connection, changes)
    _ask_for_evaluation(connection, changes, key, now)
    _count(connection, changes, now)


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
    return dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}


def _write_passages(connection: Connection, changes: Iterable[_Change]) -> None:
    """Each passage once, with the newest day of a trace that names it."""
    texts: dict[tuple[str, str], dict[str, Any]] = {}
    for rows, key, *_ in changes:
        for digest, content in rows.passages.items():
            row = texts.get((key.project, digest))
            if row is None:
                texts[key.project, digest] = {
                    "project": key.project,
                    "sha256": digest,
                    "content": content,
                    "last_day": key.day,
                }
            elif row["last_day"] < key.day:
                row["last_day"] = key.day
    ordered = [texts[name] for name in sorted(texts)]  # one order: no deadlocks
    bulk.upsert(connection, passages, ordered, ["last_day"], newer="last_day")


def _ask_for_evaluation(
    connection: Connection, changes: Sequence[_Change], key: bulk.Columns, now: datetime
) -> None:
    """A task for each revision.

    Args:
        connection: A writing one.
        changes: The traces.
        key: Their keys, days and revisions.
        now: When it is asked for.
    """
    count = len(changes)
    waiting: dict[str, Sequence[Any]] = {
        "state": ["waiting"] * count,
        "forced": [False] * count,
        "bulk": [
            row.bulk or is_history(rows.started_at, row.first_received) for rows, row, *_ in changes
        ],
        "created_at": [now] * count,
        "not_before": [now] * count,
    }
    bulk.insert_columns(connection, evaluation_tasks, {**key, **waiting})


def _count(connection: Connection, changes: Sequence[_Change], now: datetime) -> None:
    """Have the minutes and sessions of these traces added up, and count them until then."""
    replaced = [change for change in changes if change.before is not None]
    session_changes.mark_changed(
        connection,
        [
            *((change.key.project, change.rows.session_id) for change in changes),
            *((change.key.project, change.before.session_id) for change in replaced),
        ],
        now,
    )
    counts = TraceCounts()
    minutes = {counts.add(change.key, change.rows, 1) for change in changes}
    minutes |= {counts.add(change.key, change.before, -1) for change in replaced}
    rollup_changes.mark_changed(connection, minutes, now)
    counts.save(connection, now)


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
