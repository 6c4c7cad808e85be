"""Pages of traces by every filter of the API, newest first.

A text is looked for among the newest traces first, which finds whatever is common; only what is
not common there is looked up in the index. Either way little is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, literal_column, or_, select

from rag_monitor.domain.stored import TraceQuery
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.store import questions
from rag_monitor.store.cursor import decode_cursor
from rag_monitor.store.tables import LOW_SCORE, scores, traces
from rag_monitor.store.types import storable

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
_JUDGES: Final = 4
"""Rows fetched per trace that is wanted when several judges may have scored it."""
WALKED: Final = 6000
"""Newest rows that are looked through for a text before the index is asked."""
_KEY: Final = ("project", "trace_id", "day")


def find(
    connection: Connection, query: TraceQuery, limit: int, *, postgresql: bool
) -> tuple[list[Any], bool]:
    """The rows of a page and whether there are more.

    Raises:
        MalformedPayload: The cursor is not one this store handed out.
    """
    if not query.q:
        found, most = _plain(connection, query, limit + 1)
    else:
        found, most = _holding(connection, query, query.q, limit + 1, postgresql)
    # Several judges give a trace several rows, next to one another.
    unique = list({row.trace_id: row for row in found}.values())
    return unique[:limit], len(unique) > limit or len(found) == most


def _plain(connection: Connection, query: TraceQuery, limit: int) -> tuple[Sequence[Any], int]:
    if query.metric is not None:
        limit *= _JUDGES
    statement = _newest(query, [traces.c[name] for name in COLUMNS], limit)
    return connection.execute(statement).all(), limit


def _holding(
    connection: Connection, query: TraceQuery, wanted: str, limit: int, postgresql: bool
) -> tuple[Sequence[Any], int]:
    if query.metric is not None:
        limit *= _JUDGES
    most = limit
    key = [traces.c[name] for name in _KEY]
    question = [*key, traces.c.question, traces.c.started_at]
    holders = questions.holders(wanted, postgresql, _of_trace(query, _keyset(query, traces.c)))
    if holders is None:
        statement = _newest(query, question, limit, questions.contains(wanted))
        found = connection.execute(statement).all()
    else:
        walked = WALKED if query.metric is None else WALKED // _JUDGES
        newest = _newest(query, question, walked).subquery("newest")
        held = newest.c.question.icontains(storable(wanted), autoescape=True)
        columns = (newest.c.project, newest.c.trace_id, newest.c.day, newest.c.started_at)
        order = (newest.c.started_at.desc(), newest.c.trace_id.desc())
        found = connection.execute(select(*columns).where(held).order_by(*order).limit(limit)).all()
        if len(found) < limit:
            found = connection.execute(_indexed(query, holders, limit, postgresql)).all()
    return _rows(connection, query.project, found), most if len(found) == most else most + 1


def _indexed(query: TraceQuery, holders: Any, limit: int, postgresql: bool) -> Select[Any]:
    statement = select(*(holders.c[name] for name in (*_KEY, "started_at")))
    if query.metric is not None:
        same = [scores.c[name] == holders.c[name] for name in _KEY]
        statement = statement.select_from(holders.join(scores, and_(*same)))
        conditions = questions.plainly(_of_score(query, query.metric), postgresql)
        statement = statement.where(*conditions)
    order = (holders.c.started_at.desc(), holders.c.trace_id.desc())
    return statement.order_by(*order).limit(limit)


def _rows(connection: Connection, project: str, keys: Sequence[Any]) -> list[Any]:
    """The rows of a page by their keys, in that order."""
    if not keys:
        return []
    found = {
        row.trace_id: row
        for row in connection.execute(
            select(*(traces.c[name] for name in COLUMNS)).where(
                traces.c.project == project,
                traces.c.trace_id.in_({row.trace_id for row in keys}),
                traces.c.day.in_({row.day for row in keys}),
            )
        )
    }
    return [found[row.trace_id] for row in keys if row.trace_id in found]


def _newest(
    query: TraceQuery, columns: Sequence[Any], limit: int, *more: ColumnElement[bool]
) -> Select[Any]:
    """The newest that fit.

    With a metric it walks the index of that metric's scores, so that rare low scores are found
    without reading every trace; else it walks the traces.
    """
    if query.metric is None:
        conditions = _of_trace(query, _keyset(query, traces.c))
        order = (traces.c.started_at.desc(), traces.c.trace_id.desc())
        return select(*columns).where(*conditions, *more).order_by(*order).limit(limit)
    same = [scores.c[name] == traces.c[name] for name in _KEY]
    order = (scores.c.started_at.desc(), scores.c.trace_id.desc())
    return (
        select(*columns)
        .select_from(scores.join(traces, and_(*same)))
        .where(*_of_trace(query, _keyset(query, scores.c)), *_of_score(query, query.metric), *more)
        .order_by(*order)
        .limit(limit)
    )


def _keyset(query: TraceQuery, table: Any) -> list[ColumnElement[bool]]:
    """The conditions that stand on traces and on scores alike."""
    conditions = [table.project == query.project]
    if query.app is not None:
        conditions.append(table.app == query.app)
    if query.since is not None:
        conditions.append(table.started_at >= query.since)
    if query.until is not None:
        conditions.append(table.started_at < query.until)
    if query.cursor is not None:
        started_at, trace_id = decode_cursor(query.cursor)
        conditions += [
            table.started_at <= started_at,
            or_(table.started_at < started_at, table.trace_id < trace_id),
        ]
    return conditions


def _of_trace(
    query: TraceQuery, conditions: list[ColumnElement[bool]]
) -> list[ColumnElement[bool]]:
    table = traces.c
    if query.release is not None:
        conditions.append(table.release == query.release)
    if query.status is not None:
        conditions.append(table.status == query.status.value)
        if query.status is not TraceStatus.OK:
            # In the words of the partial index, without which SQLite does not see that it fits.
            conditions.append(table.status != literal_column("'ok'"))
    return conditions


def _of_score(query: TraceQuery, metric: str) -> list[ColumnElement[bool]]:
    conditions = [scores.c.metric == metric, scores.c.superseded.is_(False)]
    if query.below is not None:
        conditions.append(scores.c.value < query.below)
        if query.below <= LOW_SCORE:
            conditions.append(scores.c.value < literal_column(str(LOW_SCORE)))
    return conditions
