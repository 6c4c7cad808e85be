"""Loading whole traces, in as few queries as there are tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from typing import Any, Final

from sqlalchemy import Connection, Table, select

from rag_monitor.domain.decision import SamplingDecision
from rag_monitor.domain.trace import Trace
from rag_monitor.store.bulk import LOOKUP, Key, chunks
from rag_monitor.store.score_rows import load_decision
from rag_monitor.store.tables import decisions, hits, passages, retrievals, trace_keys, traces
from rag_monitor.store.trace_rows import from_rows

_FOR_SEARCH: Final = frozenset({"search", "terms"})
"""Columns that are asked about and never read."""


def load_traces(connection: Connection, keys: Iterable[Key]) -> dict[Key, tuple[Any, Trace]]:
    """The rows of `traces` and the whole traces, by key; what is not there is left out."""
    loaded: dict[Key, tuple[Any, Trace]] = {}
    for project, trace_ids in chunks(keys):
        days = days_of(connection, project, trace_ids)
        rows = {row.trace_id: row for row in _rows(connection, traces, project, trace_ids, days)}
        calls = _by_trace(connection, retrievals, project, list(rows), days)
        called = _by_trace(connection, hits, project, list(rows), days)
        texts = load_passages(
            connection, project, {name for row in rows.values() for name in row.passages}
        )
        for trace_id, row in rows.items():
            trace = from_rows(row, calls[trace_id], called[trace_id], texts)
            loaded[project, trace_id] = (row, trace)
    return loaded


def load_decisions(
    connection: Connection, keys: Iterable[Key]
) -> dict[Key, tuple[SamplingDecision, ...]]:
    """The sampling decisions of traces, by key."""
    decisions_by_trace: dict[Key, list[SamplingDecision]] = defaultdict(list)
    for project, trace_ids in chunks(keys):
        days = days_of(connection, project, trace_ids)
        for row in _rows(connection, decisions, project, trace_ids, days):
            decisions_by_trace[project, row.trace_id].append(load_decision(row))
    return {key: tuple(own) for key, own in decisions_by_trace.items()}


def days_of(connection: Connection, project: str, trace_ids: Iterable[str]) -> set[Any]:
    """The days of traces: which partitions to look into."""
    statement = select(trace_keys.c.day).where(
        trace_keys.c.project == project, trace_keys.c.trace_id.in_(list(trace_ids))
    )
    return set(connection.execute(statement.distinct()).scalars())


def grouped_by_day(
    connection: Connection, project: str, trace_ids: Iterable[str]
) -> dict[date, list[str]]:
    """Traces by their day: each group lies in one partition. Unknown ones are left out."""
    by_day: dict[date, list[str]] = defaultdict(list)
    for _, ids in chunks((project, trace_id) for trace_id in trace_ids):
        statement = select(trace_keys.c.trace_id, trace_keys.c.day).where(
            trace_keys.c.project == project, trace_keys.c.trace_id.in_(ids)
        )
        for row in connection.execute(statement):
            by_day[row.day].append(row.trace_id)
    return by_day


def load_passages(connection: Connection, project: str, digests: Iterable[str]) -> dict[str, str]:
    """Content by SHA-256."""
    ordered = sorted(digests)
    content: dict[str, str] = {}
    for start in range(0, len(ordered), LOOKUP):
        statement = select(passages.c.sha256, passages.c.content).where(
            passages.c.project == project, passages.c.sha256.in_(ordered[start : start + LOOKUP])
        )
        content.update({row.sha256: row.content for row in connection.execute(statement)})
    return content


def load_hits(
    connection: Connection, project: str, trace_ids: list[str], days: set[Any]
) -> dict[str, list[Any]]:
    """Rows of `hits` by trace, in order."""
    return _by_trace(connection, hits, project, trace_ids, days)


def _rows(
    connection: Connection, table: Table, project: str, trace_ids: list[str], days: set[Any]
) -> Iterable[Any]:
    columns = [column for column in table.c if column.name not in _FOR_SEARCH]
    statement = select(*columns).where(
        table.c.project == project, table.c.trace_id.in_(trace_ids), table.c.day.in_(days)
    )
    return connection.execute(statement).all() if trace_ids else ()


def _by_trace(
    connection: Connection, table: Table, project: str, trace_ids: list[str], days: set[Any]
) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = defaultdict(list)
    for row in _rows(connection, table, project, trace_ids, days):
        grouped[row.trace_id].append(row)
    for rows in grouped.values():
        rows.sort(key=lambda row: row.position)
    return grouped
