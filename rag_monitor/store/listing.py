"""What lists show of traces, by their keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select

from rag_monitor.domain.stored import TraceSummary
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.store.bulk import chunks
from rag_monitor.store.tables import scores, traces
from rag_monitor.store.trace_reads import days_of

COLUMNS: Final = (
    "trace_id",
    "day",
    "app",
    "release",
    "started_at",
    "status",
    "question",
    "answer",
    "end_to_end_ms",
    "first_byte_ms",
    "revision",
    "user_id",
    "session_id",
)
"""Of a row in a list."""


def rows_of(connection: Connection, project: str, keys: Sequence[Any]) -> list[Any]:
    """The rows of a list by `trace_id` and `day`, in the order of `keys`."""
    if not keys:
        return []
    ids, days = {row.trace_id for row in keys}, {row.day for row in keys}
    by_trace = {row.trace_id: row for row in _rows(connection, project, ids, days)}
    return [by_trace[row.trace_id] for row in keys if row.trace_id in by_trace]


def by_id(
    connection: Connection, project: str, trace_ids: Iterable[str]
) -> dict[str, TraceSummary]:
    """What a list shows of traces, by their ids; what is not there is left out."""
    by_trace: dict[str, TraceSummary] = {}
    for _, ids in chunks((project, trace_id) for trace_id in trace_ids):
        rows = _rows(connection, project, ids, days_of(connection, project, ids))
        by_trace.update({item.trace_id: item for item in summaries(connection, project, rows)})
    return by_trace


def _rows(
    connection: Connection, project: str, trace_ids: Collection[str], days: Collection[Any]
) -> Sequence[Any]:
    statement = select(*(traces.c[name] for name in COLUMNS)).where(
        traces.c.project == project, traces.c.trace_id.in_(trace_ids), traces.c.day.in_(days)
    )
    return connection.execute(statement).all()


def summaries(connection: Connection, project: str, rows: Sequence[Any]) -> list[TraceSummary]:
    """Rows with `COLUMNS`, and the current scores of each."""
    values: dict[str, dict[str, float | None]] = defaultdict(dict)
    if not rows:
        return []
    statement = (
        select(scores.c.trace_id, scores.c.metric, scores.c.value)
        .where(
            scores.c.project == project,
            scores.c.trace_id.in_([row.trace_id for row in rows]),
            scores.c.day.in_({row.day for row in rows}),
            scores.c.superseded.is_(False),
        )
        .order_by(scores.c.created_at)
    )
    for trace_id, metric, value in connection.execute(statement):
        values[trace_id][metric] = value
    return [_summary(row, values[row.trace_id]) for row in rows]


def _summary(row: Any, values: dict[str, float | None]) -> TraceSummary:
    columns = {name: row._mapping[name] for name in COLUMNS if name != "day"}
    return TraceSummary(**{**columns, "status": TraceStatus(row.status)}, scores=values)
