"""How the filters of `domain.filters` become SQL.

A filter is a condition on a row of traces: on its own columns (`of_row`), or on what other tables
hold of it (`about`). Some name the few traces that can fit by an index (`candidates`); whether one
of those fits, the conditions decide. `listing` puts both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    and_,
    func,
    literal_column,
    or_,
    select,
    true,
)

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.filters import SearchIn, TraceQuery, TraceSort, UserRating
from rag_monitor.domain.rating import SATISFIED_ABOVE
from rag_monitor.domain.rollup import REFUSAL_METRIC
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.store import trace_terms
from rag_monitor.store.tables import LOW_SCORE, faults, feedback, scores, traces
from rag_monitor.store.types import storable_name

Conditions = list[ColumnElement[bool]]
_KEY: Final = ("project", "trace_id", "day")
_BY_TIME: Final = ("app", "release", "user_id", "session_id")
"""Filters with an index of traces by time."""
_BY_TERM: Final = ("environment", "model")
"""Columns that are terms, too."""
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""No time is earlier."""
REFUSES_FROM: Final = 0.5
"""A score of the refusal metric from here on says that the answer declines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Restricts a list to traces of sessions, without some that have had their turn."""

    without: tuple[str, ...] = ()


def in_time(query: TraceQuery, table: FromClause) -> Conditions:
    """The project and the ends of the time asked for."""
    columns = table.c
    conditions: Conditions = [columns.project == query.project]
    if query.since is not None:
        conditions.append(columns.started_at >= query.since)
    if query.until is not None:
        conditions.append(columns.started_at < query.until)
    return conditions


def by_time(query: TraceQuery, row: FromClause, turns: Turns | None = None) -> Conditions:
    """Conditions on columns that have an index by time."""
    conditions: Conditions = [
        row.c[name] == clean_text(value)
        for name in _BY_TIME
        if (value := getattr(query, name)) is not None
    ]
    if query.status is not None:
        conditions.append(row.c.status == query.status.value)
        if query.status is not TraceStatus.OK:
            # In the words of the partial index, without which SQLite does not see that it fits.
            conditions.append(row.c.status != literal_column("'ok'"))
    if turns is not None or query.session_id is not None:
        conditions.append(row.c.session_id.is_not(None))
    if turns is not None and turns.without:
        # PostgreSQL takes `NOT IN` of a column with NULLs for a condition that hardly a row meets,
        # and then sorts all traces instead of walking from the newest.
        conditions.append(row.c.session_id.in_(turns.without).is_not(true()))
    return conditions


def of_row(query: TraceQuery, row: FromClause, *, postgresql: bool) -> Conditions:
    """Conditions on the other columns of traces."""
    conditions: Conditions = [
        row.c[name] == storable_name(value)
        for name in _BY_TERM
        if (value := getattr(query, name)) is not None
    ]
    terms = trace_terms.query_terms(query, without=_BY_TERM)
    if terms:
        conditions.append(trace_terms.hold(row, terms, postgresql=postgresql))
    if query.latency_above is not None:
        conditions.append(row.c.end_to_end_ms > query.latency_above)
    if query.q and query.q_in is SearchIn.QUESTION:
        conditions.append(row.c.question.icontains(clean_text(query.q), autoescape=True))
    if query.q and query.q_in is SearchIn.ANSWER:
        conditions.append(
            or_(
                row.c.answer.icontains(clean_text(query.q), autoescape=True),
                row.c.error.icontains(clean_text(query.q), autoescape=True),
            )
        )
    return conditions


def columns_for(query: TraceQuery, turns: Turns | None = None) -> list[str]:
    """The columns of traces, besides its key and time, that the conditions ask about."""
    names = [name for name in (*_BY_TIME, *_BY_TERM) if getattr(query, name) is not None]
    if query.status is not None:
        names.append("status")
    if turns is not None and "session_id" not in names:
        names.append("session_id")
    if trace_terms.query_terms(query, without=_BY_TERM):
        names.append("terms")
    if query.latency_above is not None or query.sort is TraceSort.LATENCY:
        names.append("end_to_end_ms")
    if query.q and query.q_in is SearchIn.QUESTION:
        names.append("question")
    if query.q and query.q_in is SearchIn.ANSWER:
        names += ["answer", "error"]
    return names


def about(query: TraceQuery, row: FromClause, *, but: str | None = None) -> Conditions:
    """Conditions on what other tables hold of the trace of a row.

    Args:
        query: What is asked for.
        row: Has `project`, `trace_id` and `day`.
        but: A table whose rows are walked already: its filter holds.
    """
    conditions: Conditions = []
    if query.metric is not None and but != scores.name:
        of = scores.alias("scored")
        conditions.append(_has(of, row, of_score(query, of)))
    if query.fault is not None and but != faults.name:
        of = faults.alias("diagnosed")
        conditions.append(_has(of, row, [of.c.fault == query.fault.value]))
    if query.rating is not None:
        rated = _rated(row)
        up = query.rating is UserRating.UP
        conditions.append(rated > SATISFIED_ABOVE if up else rated <= SATISFIED_ABOVE)
    if query.refused is not None:
        of = scores.alias("refusals")
        judged = [of.c.metric == REFUSAL_METRIC, of.c.superseded.is_(False)]
        declines = _has(of, row, [*judged, of.c.value >= REFUSES_FROM])
        if query.refused:
            conditions.append(declines)
        else:
            answers = _has(of, row, [*judged, of.c.value < REFUSES_FROM])
            conditions += [answers, ~declines]
    return conditions


def of_score(query: TraceQuery, table: FromClause) -> Conditions:
    """The scores of the metric that fit."""
    columns = table.c
    conditions: Conditions = [columns.metric == query.metric, columns.superseded.is_(False)]
    return conditions + _between(query, columns.value)


def scores_by_time(query: TraceQuery, *, postgresql: bool) -> Conditions:
    """As `of_score`, so that SQLite takes an index by time, and not the one by value."""
    columns = scores.c
    conditions: Conditions = [columns.metric == query.metric, columns.superseded.is_(False)]
    conditions += plainly(_between(query, columns.value), postgresql=postgresql)
    if query.below is not None and query.below <= LOW_SCORE:
        # In the words of the index of low scores.
        conditions.append(columns.value < literal_column(str(LOW_SCORE)))
    if not postgresql:
        conditions.append(columns.started_at >= _FIRST)
    return conditions


def _between(query: TraceQuery, value: ColumnElement[Any]) -> Conditions:
    conditions: Conditions = []
    if query.below is not None:
        conditions.append(value < query.below)
    if query.above is not None:
        conditions.append(value > query.above)
    return conditions


def candidates(query: TraceQuery, turns: Turns | None = None) -> list[Select[Any]]:
    """Ids of all traces that can fit, several ways; each costs as much as it has rows."""
    ways: list[Select[Any]] = []
    time_bound = query.since is not None or query.until is not None
    bound = [*in_time(query, traces), *by_time(query, traces, turns)]
    if query.sort is not TraceSort.TIME and (time_bound or by_time(query, traces)):
        ways.append(select(traces.c.trace_id).where(*bound))
    if query.sort is not TraceSort.LATENCY and query.latency_above is not None:
        slow = traces.c.end_to_end_ms > query.latency_above
        ways.append(select(traces.c.trace_id).where(traces.c.project == query.project, slow))
    columns = scores.c
    if query.metric is not None and (query.below is not None or query.above is not None):
        fits = [columns.project == query.project, *of_score(query, scores)]
        ways.append(select(columns.trace_id).where(*fits))
    if query.refused:
        ways.append(
            select(columns.trace_id).where(
                columns.project == query.project,
                columns.metric == REFUSAL_METRIC,
                columns.value >= REFUSES_FROM,
                columns.superseded.is_(False),
            )
        )
    if query.fault is not None:
        same = [faults.c.project == query.project, faults.c.fault == query.fault.value]
        ways.append(select(faults.c.trace_id).where(*same))
    if query.rating is not None:
        # The mean of several is above a limit only if one of them is.
        up = query.rating is UserRating.UP
        value = feedback.c.value
        side = value > SATISFIED_ABOVE if up else value <= SATISFIED_ABOVE
        rated = [feedback.c.project == query.project, feedback.c.kind.is_not(None), side]
        ways.append(select(feedback.c.trace_id).where(*rated))
    return ways


def trace_of(keys: FromClause, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether the trace of a row is there and fits.

    It is looked up row by row: a join PostgreSQL would rather make by reading all traces.
    """
    is_there: ColumnElement[bool] = of(keys, traces.c.trace_id, *conditions).is_not(None)
    return is_there


def of(keys: FromClause, column: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Any:
    """A column of the trace of a row; NULL where it does not fit."""
    same = [traces.c[name] == keys.c[name] for name in _KEY]
    return select(column).where(*same, *conditions).correlate(keys).scalar_subquery()


def plainly(conditions: Sequence[ColumnElement[bool]], *, postgresql: bool) -> Conditions:
    """Conditions that SQLite checks, and for which it does not look for an index.

    It knows nothing about how values are spread, and would rather walk every trace of a project
    than look up the few that a search found.
    """
    return list(conditions) if postgresql else _unindexed(conditions)


def _unindexed(conditions: Sequence[ColumnElement[bool]]) -> Conditions:
    return [condition.is_(True) for condition in conditions]


def _has(table: FromClause, row: FromClause, conditions: Conditions) -> ColumnElement[bool]:
    """Whether the table has a row of the same trace that fits, found by the key of the trace.

    Before its statistics are gathered, PostgreSQL takes an index by metric and value for every
    trace anew.
    """
    same = [table.c[name] == row.c[name] for name in _KEY]
    held = select(table.c.trace_id).where(*same, *_unindexed(conditions))
    return held.limit(1).correlate(row).scalar_subquery().is_not(None)


def _rated(row: FromClause) -> Any:
    """The mean of the newest rating of each user; NULL where there is none."""
    given, later = feedback.alias("given"), feedback.alias("later")
    replaced = (
        select(later.c.id)
        .where(
            later.c.project == given.c.project,
            later.c.trace_id == given.c.trace_id,
            later.c.kind.is_not(None),
            # Ratings without an author may be of different people: each counts.
            later.c.author == given.c.author,
            or_(
                later.c.created_at > given.c.created_at,
                and_(later.c.created_at == given.c.created_at, later.c.id > given.c.id),
            ),
        )
        .limit(1)
        .correlate(given)
        .scalar_subquery()
    )
    return (
        select(func.avg(given.c.value))
        .where(
            given.c.project == row.c.project,
            given.c.trace_id == row.c.trace_id,
            given.c.kind.is_not(None),
            replaced.is_(None),
        )
        .correlate(row)
        .scalar_subquery()
    )
