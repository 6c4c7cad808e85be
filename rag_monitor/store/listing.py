"""Pages of traces by every filter of the API, newest first.

A text is looked for among the newest traces first, which finds whatever is common; only what is
not common there is looked up in the index. Either way little is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    func,
    literal_column,
    or_,
    select,
)

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.stored import TraceQuery, TraceSummary
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.store import question_index
from rag_monitor.store.bulk import chunks
from rag_monitor.store.page_cursor import decode_cursor
from rag_monitor.store.tables import LOW_SCORE, scores, traces
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
_JUDGES: Final = 4
"""Rows fetched per trace that is wanted when several judges may have scored it."""
WALKED: Final = 6000
"""Newest rows that are looked through for a text before the index is asked."""
_KEY: Final = ("project", "trace_id", "day")


def find(
    connection: Connection, query: TraceQuery, limit: int, *, postgresql: bool
) -> tuple[list[Any], Any | None]:
    """The rows of a page, and what it ends with where there are more.

    Raises:
        MalformedPayload: The cursor is not one this store handed out.
    """
    if query.metric is None and not query.q:
        statement = newest(query, [traces.c[name] for name in COLUMNS], limit + 1)
        rows = connection.execute(statement).all()
        return list(rows[:limit]), rows[limit - 1] if len(rows) > limit else None
    most = (limit + 1) * (1 if query.metric is None else _JUDGES)
    if query.q:
        matching = _holding(connection, query, query.q, limit + 1, most, postgresql)
    else:
        matching = connection.execute(scored(query, query.metric or "", most)).all()
    # Several judges give a trace several rows, next to one another.
    unique = list({row.trace_id: row for row in matching}.values())
    more = len(unique) > limit or len(matching) == most
    shown = unique[:limit]
    return rows_of(connection, query.project, shown), shown[-1] if more else None


def _holding(
    connection: Connection,
    query: TraceQuery,
    text: str,
    enough: int,
    limit: int,
    postgresql: bool,
) -> Sequence[Any]:
    """The keys of the newest that fit and hold a text: of `enough` traces, in `limit` rows."""
    holders = question_index.holders(text, postgresql, _of_trace(query, _keyset(query, traces.c)))
    if holders is None:
        return connection.execute(_containing(query, text, limit)).all()
    matching: list[Any] = []
    start = 0
    for end in (WALKED,) if query.metric is None else (WALKED // _JUDGES, WALKED):
        statement = _walk(query, text, (start, end), limit - len(matching))
        part = connection.execute(statement).all()
        matching += part
        held = len({row.trace_id for row in matching})
        if held >= enough or (part and part[0].walked < end - start):
            return matching
        if held * WALKED < enough * end:
            break  # too rare to be found by walking on
        start = end
    return connection.execute(_indexed(query, holders, limit, postgresql)).all()


def _containing(query: TraceQuery, text: str, limit: int) -> Select[Any]:
    """The keys of the newest that fit and hold a text which no index knows."""
    if query.metric is not None:
        return scored(query, query.metric, limit, _question_of(scores, text))
    columns = [traces.c[name] for name in (*_KEY, "started_at")]
    return newest(query, columns, limit, question_index.contains(text))


def _walk(query: TraceQuery, text: str, stretch: tuple[int, int], limit: int) -> Select[Any]:
    """The keys of those in a stretch of the newest that hold the text, and how many were walked."""
    start, end = stretch
    if query.metric is None:
        columns = [traces.c[name] for name in (*_KEY, "started_at", "question")]
        walk = newest(query, columns, end - start)
    else:
        walk = scored(query, query.metric, end - start)
    part = walk.offset(start).cte("newest").prefix_with("MATERIALIZED")
    if query.metric is None:
        held = part.c.question.icontains(clean_text(text), autoescape=True)
    else:
        held = _question_of(part, text)
    walked = select(func.count()).select_from(part).scalar_subquery().label("walked")
    order = (part.c.started_at.desc(), part.c.trace_id.desc())
    keys = [part.c[name] for name in (*_KEY, "started_at")]
    return select(*keys, walked).where(held).order_by(*order).limit(limit)


def _indexed(query: TraceQuery, holders: Any, limit: int, postgresql: bool) -> Select[Any]:
    statement = select(*(holders.c[name] for name in (*_KEY, "started_at")))
    if query.metric is not None:
        same = [scores.c[name] == holders.c[name] for name in _KEY]
        statement = statement.select_from(holders.join(scores, and_(*same)))
        conditions = question_index.plainly(_of_score(query, query.metric), postgresql)
        statement = statement.where(*conditions)
    order = (holders.c.started_at.desc(), holders.c.trace_id.desc())
    return statement.order_by(*order).limit(limit)


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


def newest(
    query: TraceQuery, columns: Sequence[Any], limit: int, *more: ColumnElement[bool]
) -> Select[Any]:
    """The newest traces that fit, whatever their scores."""
    conditions = _of_trace(query, _keyset(query, traces.c))
    order = (traces.c.started_at.desc(), traces.c.trace_id.desc())
    return select(*columns).where(*conditions, *more).order_by(*order).limit(limit)


def scored(query: TraceQuery, metric: str, limit: int, *more: ColumnElement[bool]) -> Select[Any]:
    """The keys of the newest that fit, by their scores of a metric.

    It walks the index of that metric's scores, so that rare low scores are found without reading
    every trace. What stands on the trace is looked up score by score, until there are enough: a
    join PostgreSQL would rather make by reading all traces.
    """
    conditions = [*_keyset(query, scores.c), *_of_score(query, metric), *more]
    # Scores are kept longer than their traces.
    conditions.append(of(scores, traces.c.trace_id).is_not(None))
    if query.release is not None:
        conditions.append(of(scores, traces.c.release) == query.release)
    if query.status is not None:
        conditions.append(of(scores, traces.c.status) == query.status.value)
    if query.user_id is not None:
        conditions.append(of(scores, traces.c.user_id) == clean_text(query.user_id))
    order = (scores.c.started_at.desc(), scores.c.trace_id.desc())
    columns = [scores.c[name] for name in (*_KEY, "started_at")]
    return select(*columns).where(*conditions).order_by(*order).limit(limit)


def of(keys: FromClause, column: ColumnElement[Any]) -> Any:
    """A column of the trace of a row."""
    same = [traces.c[name] == keys.c[name] for name in _KEY]
    return select(column).where(*same).scalar_subquery()


def _question_of(keys: FromClause, text: str) -> ColumnElement[bool]:
    """Whether the question of a row's trace holds the text."""
    question = of(keys, traces.c.question)
    held: ColumnElement[bool] = question.icontains(clean_text(text), autoescape=True)
    return held


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
    if query.user_id is not None:
        conditions.append(table.user_id == clean_text(query.user_id))
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
