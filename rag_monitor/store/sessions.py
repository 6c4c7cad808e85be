"""Sessions: the traces that share a session id, as conversations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import Connection, and_, cast, exists, func, or_, select
from sqlalchemy.types import Text

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.session import Neighbours, Session, SessionPage, SessionQuery, Turn
from rag_monitor.domain.trace import Timings, TraceStatus
from rag_monitor.errors import NotFound
from rag_monitor.store.annotations import load_feedback
from rag_monitor.store.bulk import LOOKUP
from rag_monitor.store.engine import Database
from rag_monitor.store.fault_rows import load_diagnoses
from rag_monitor.store.page_cursor import decode_cursor, encode_cursor
from rag_monitor.store.tables import faults, scores, traces
from rag_monitor.store.trace_reads import load_hits
from rag_monitor.store.trace_rows import load_hit

MOST_TURNS: Final = 200
"""Turns of a session that are read at once: a sender may give every trace the same id."""
TURNS_IN_A_LIST: Final = 50
"""The same of each session of a page."""
MAX_PAGE: Final = 200
_TIMINGS: Final = (
    *("first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms", "first_token_ms"),
)
_COLUMNS: Final = (
    *("trace_id", "day", "app", "release", "environment", "user_id", "tags", "started_at"),
    *("status", "error", "question", "answer", *_TIMINGS),
)


class Sessions:
    """Sessions of all projects; every question names one, and another's is not found."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def search(self, query: SessionQuery) -> SessionPage:
        """One page of sessions; each with its newest turns, whether they fit the query or not.

        A session is listed once, at the newest of its turns that fits. Reads the traces that fit
        from the newest on until the page is full, and per trace one entry of an index.

        Raises:
            MalformedPayload: The cursor is not one this store handed out.
        """
        limit = max(1, min(query.limit, MAX_PAGE))
        with self._database.read() as connection:
            rows = connection.execute(_newest_turns(query, limit + 1)).all()
            shown = rows[:limit]
            items = [
                _load(connection, query.project, row.session_id, TURNS_IN_A_LIST) for row in shown
            ]
        last = shown[-1] if len(rows) > limit else None
        return SessionPage(
            items=tuple(item for item in items if item is not None),
            next_cursor=None if last is None else encode_cursor(last.started_at, last.trace_id),
        )

    def get(
        self, project: str, session_id: str, *, cursor: str | None = None, limit: int = MOST_TURNS
    ) -> Session:
        """A session with its newest turns, or those before a cursor.

        Args:
            project: Tenant.
            session_id: As its sender gave it.
            cursor: `Session.earlier_cursor` of later turns.
            limit: At most so many turns.

        Raises:
            NotFound: No trace of this project has that session.
            MalformedPayload: The cursor is not one this store handed out.
        """
        with self._database.read() as connection:
            session = _load(connection, project, session_id, limit, cursor)
        if session is None:
            raise NotFound(
                "project {project!r} has no session {session_id!r}",
                project=project,
                session_id=session_id,
            )
        return session

    def neighbours(
        self, project: str, session_id: str, started_at: datetime, trace_id: str
    ) -> Neighbours:
        """The traces of a session that stand right before and after one of it."""
        ours = of_session(project, session_id)
        columns = traces.c
        earlier = begun_before(columns, started_at, trace_id)
        later = or_(
            columns.started_at > started_at,
            and_(columns.started_at == started_at, columns.trace_id > trace_id),
        )
        order = (columns.started_at, columns.trace_id)
        turn = select(columns.trace_id).where(*ours).limit(1)
        with self._database.read() as connection:
            return Neighbours(
                previous=connection.execute(
                    turn.where(earlier).order_by(*(column.desc() for column in order))
                ).scalar(),
                following=connection.execute(turn.where(later).order_by(*order)).scalar(),
            )


def of_session(project: str, session_id: str) -> list[Any]:
    """What the traces of a session fulfil."""
    # In the words of the partial index, without which SQLite does not see that it fits.
    columns = traces.c
    in_session = columns.session_id.is_not(None)
    return [columns.project == project, columns.session_id == clean_text(session_id), in_session]


def begun_before(table: Any, started_at: datetime, trace_id: str) -> Any:
    """What those traces fulfil that stand before one, of the same moment by their ids."""
    return and_(
        table.started_at <= started_at,
        or_(table.started_at < started_at, table.trace_id < trace_id),
    )


def _newest_turns(query: SessionQuery, limit: int) -> Any:
    """The newest fitting turn of each session."""
    later = traces.alias("later")
    is_later = or_(
        later.c.started_at > traces.c.started_at,
        and_(
            later.c.started_at == traces.c.started_at,
            later.c.trace_id > traces.c.trace_id,
        ),
    )
    same = later.c.session_id == traces.c.session_id
    has_later = exists().where(
        same,
        later.c.started_at >= traces.c.started_at,
        is_later,
        later.c.session_id.is_not(None),
        *_fits(query, later.c),
    )
    conditions = [traces.c.session_id.is_not(None), *_fits(query, traces.c), ~has_later]
    if query.cursor is not None:
        conditions.append(begun_before(traces.c, *decode_cursor(query.cursor)))
    return (
        select(traces.c.session_id, traces.c.started_at, traces.c.trace_id)
        .where(*conditions)
        .order_by(traces.c.started_at.desc(), traces.c.trace_id.desc())
        .limit(limit)
    )


def _fits(query: SessionQuery, table: Any) -> list[Any]:
    conditions = [table.project == query.project]
    for name in ("app", "release", "environment", "user_id"):
        value = getattr(query, name)
        if value is not None:
            conditions.append(table[name] == clean_text(value))
    if query.tag is not None:
        # Tags are a JSON list of texts as orjson writes it; a quotation mark in one is escaped.
        element = orjson.dumps(clean_text(query.tag)).decode()
        conditions.append(cast(table.tags, Text).contains(element, autoescape=True))
    if query.since is not None:
        conditions.append(table.started_at >= query.since)
    if query.until is not None:
        conditions.append(table.started_at < query.until)
    return conditions


def _load(
    connection: Connection, project: str, session_id: str, limit: int, cursor: str | None = None
) -> Session | None:
    ours = of_session(project, session_id)
    ends = select(func.count(), func.min(traces.c.started_at), func.max(traces.c.started_at)).where(
        *ours
    )
    total, first_at, last_at = connection.execute(ends).one()
    if not total:
        return None
    statement = select(*(traces.c[name] for name in _COLUMNS)).where(*ours)
    if cursor is not None:
        statement = statement.where(begun_before(traces.c, *decode_cursor(cursor)))
    order = (traces.c.started_at.desc(), traces.c.trace_id.desc())
    rows = connection.execute(statement.order_by(*order).limit(limit + 1)).all()
    shown = rows[:limit][::-1]
    more = shown[0] if len(rows) > limit else None
    return Session(
        session_id=session_id,
        total=total,
        first_at=first_at,
        last_at=last_at,
        turns=tuple(_turns(connection, project, shown)),
        earlier_cursor=None if more is None else encode_cursor(more.started_at, more.trace_id),
    )


def _turns(connection: Connection, project: str, rows: Sequence[Any]) -> list[Turn]:
    turns: list[Turn] = []
    for start in range(0, len(rows), LOOKUP):
        part = rows[start : start + LOOKUP]
        ids, days = [row.trace_id for row in part], {row.day for row in part}
        values, flagged = _scores(connection, project, ids, days)
        called = load_hits(connection, project, ids, days)
        diagnosed = _diagnoses(connection, project, ids, days)
        marks = load_feedback(connection, project, ids)
        turns += [
            Turn(
                trace_id=row.trace_id,
                app=row.app,
                release=row.release,
                environment=row.environment,
                user_id=row.user_id,
                tags=tuple(row.tags),
                started_at=row.started_at,
                status=TraceStatus(row.status),
                error=row.error,
                question=row.question,
                answer=row.answer,
                timings=Timings(**{name: row._mapping[name] for name in _TIMINGS}),
                hits=tuple(map(load_hit, called[row.trace_id])),
                scores=values[row.trace_id],
                flagged=flagged.get(row.trace_id),
                faults=tuple(diagnosed[row.trace_id]),
                feedback=tuple(marks.get(row.trace_id, ())),
            )
            for row in part
        ]
    return turns


def _scores(
    connection: Connection, project: str, trace_ids: list[str], days: set[Any]
) -> tuple[dict[str, dict[str, float | None]], dict[str, bool | None]]:
    """Current values by trace and metric, and whether the answer was flagged."""
    values: dict[str, dict[str, float | None]] = defaultdict(dict)
    flagged: dict[str, bool | None] = {}
    columns = scores.c
    statement = (
        select(columns.trace_id, columns.metric, columns.value, columns.flagged)
        .where(
            columns.project == project,
            columns.trace_id.in_(trace_ids),
            columns.day.in_(days),
            columns.superseded.is_(False),
        )
        .order_by(columns.created_at)
    )
    for row in connection.execute(statement):
        values[row.trace_id][row.metric] = row.value
        if row.metric == "answer_supported":
            flagged[row.trace_id] = row.flagged
    return values, flagged


def _diagnoses(
    connection: Connection, project: str, trace_ids: list[str], days: set[Any]
) -> dict[str, list[Diagnosis]]:
    statement = (
        select(faults)
        .where(
            faults.c.project == project,
            faults.c.trace_id.in_(trace_ids),
            faults.c.day.in_(days),
        )
        .order_by(faults.c.created_at.desc())
    )
    rows = connection.execute(statement).all()
    by_trace: dict[str, list[Diagnosis]] = defaultdict(list)
    for row, diagnosis in zip(rows, load_diagnoses(connection, project, rows), strict=True):
        by_trace[row.trace_id].append(diagnosis)
    return by_trace
