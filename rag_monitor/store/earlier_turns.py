"""The turns before a trace in its session: what a question that depends on them is judged with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import func, literal, select, union_all

from rag_monitor.domain.conversation import (
    LONGEST_ANSWER,
    LONGEST_QUESTION,
    MOST_TURNS,
    EarlierTurn,
    last_turns,
)
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.store.engine import Database
from rag_monitor.store.sessions import begun_before, of_session
from rag_monitor.store.tables import traces
from rag_monitor.store.trace_reads import days_of

_AT_ONCE: Final = 100
"""Traces per statement: SQLite takes at most 500 parts of a union."""
_TURN: Final = (
    traces.c.trace_id,
    func.substr(traces.c.question, 1, LONGEST_QUESTION).label("question"),
    func.substr(traces.c.answer, 1, LONGEST_ANSWER).label("answer"),
)


class EarlierTurns:
    """Reads the turns before traces, of all projects. Blocks; any number of threads may."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def before(self, wanted: Sequence[EvaluationTask]) -> list[tuple[EarlierTurn, ...]]:
        """Of each trace the last turns of its session that began before it, in order.

        Those that came in on the same day or the day before: not every day is looked into. One
        statement for a hundred traces, with one look into an index for each.
        """
        turns: dict[int, list[Any]] = defaultdict(list)
        places = [n for n, task in enumerate(wanted) if task.trace.session_id is not None]
        with self._database.read() as connection:
            for start in range(0, len(places), _AT_ONCE):
                part = places[start : start + _AT_ONCE]
                parts = [_turns_before(wanted[place], place) for place in part]
                for row in connection.execute(union_all(*parts)):
                    turns[row.place].append(row)
        return [_in_order(turns[place]) for place in range(len(wanted))]

    def named(self, project: str, trace_ids: Sequence[str]) -> list[EarlierTurn]:
        """Those turns of a project that are still there, in order, cut as judges were given them.

        Args:
            project: Tenant.
            trace_ids: `SamplingDecision.history`.
        """
        if not trace_ids:
            return []
        columns = traces.c
        with self._database.read() as connection:
            days = days_of(connection, project, trace_ids)
            statement = select(*_TURN, columns.started_at).where(
                columns.project == project,
                columns.trace_id.in_(trace_ids),
                columns.day.in_(days),
                columns.question.is_not(None),
            )
            return list(_in_order(connection.execute(statement).all()))


def _turns_before(task: EvaluationTask, place: int) -> Any:
    columns, trace, day = traces.c, task.trace, task.received_on
    recent = [] if day is None else [columns.day.in_([day - timedelta(days=1), day])]
    newest = (
        select(
            literal(place).label("place"),
            columns.started_at,
            *_TURN,
        )
        .where(
            *of_session(trace.project, trace.session_id or ""),
            begun_before(columns, trace.started_at, trace.trace_id),
            *recent,
            columns.question.is_not(None),
        )
        .order_by(columns.started_at.desc(), columns.trace_id.desc())
        .limit(MOST_TURNS)
        .subquery()
    )
    return select(newest)


def _in_order(rows: Sequence[Any]) -> tuple[EarlierTurn, ...]:
    ordered = sorted(rows, key=lambda row: (row.started_at, row.trace_id))
    return last_turns(
        EarlierTurn(question=row.question, answer=row.answer or "", trace_id=row.trace_id)
        for row in ordered
    )
