"""Sessions: the traces that share a session id, as conversations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, and_, func, or_, select

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.session import Neighbours, Session, SessionPage, SessionQuery, Turn
from rag_monitor.domain.trace import Timings, TraceStatus
from rag_monitor.errors import NotFound
from rag_monitor.store import listing, trace_finder, trace_terms
from rag_monitor.store.annotations import load_feedback, load_reported_of_session
from rag_monitor.store.bulk import LOOKUP
from rag_monitor.store.engine import Database
from rag_monitor.store.fault_rows import load_diagnoses
from rag_monitor.store.page_cursor import decode_cursor, encode_cursor
from rag_monitor.store.session_verdict_rows import load_verdicts
from rag_monitor.store.tables import faults, scores, traces
from rag_monitor.store.trace_filters import Turns
from rag_monitor.store.trace_finder import KeyPage
from rag_monitor.store.trace_reads import load_hits
from rag_monitor.store.trace_rows import load_hit

MOST_TURNS: Final = 200
"""Turns of a session that are read at once: a sender may give every trace the same id."""
TURNS_IN_A_LIST: Final = 50
"""The same of each session of a page."""
MAX_PAGE: Final = 200
MOST_LOOKED_AT: Final = 75
"""Sessions that one page looks at where not all of them are kept."""
_TURNS: Final = 8
"""Turns that are read for each session wanted."""
_CROWDED: Final = 20
"""Where turns have so few sessions, one in so many, those seen are left out by the database."""
_MOST_COMPARED: Final = 5000
"""Turns of the sessions of a page that are compared at once."""
_TOGETHER: Final = 50
"""Sessions that are read together."""
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

    def search(
        self, query: SessionQuery, keep: Callable[[Session], bool] | None = None
    ) -> SessionPage:
        """One page of sessions; each with its newest turns, whether they fit the query or not.

        A session is listed once, at the first of its turns that fits in the order asked for.

        Args:
            query: Its `resolved` is left to `keep`.
            keep: Leaves out sessions by what their turns say of them.

        Raises:
            MalformedPayload: The cursor is not one this store handed out, or one of another order.
        """
        limit = max(1, min(query.limit, MAX_PAGE))
        with self._database.read() as connection:
            listed = _Listing(connection, query, self._database.is_postgresql, keep)
            page = listed.page(limit)
            return replace(page, indexed_since=trace_terms.indexed_since(connection, query))

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
            reported = load_reported_of_session(connection, project, session_id)
            verdicts = load_verdicts(connection, project, [clean_text(session_id)])
        if session is None:
            raise NotFound(
                "project {project!r} has no session {session_id!r}",
                project=project,
                session_id=session_id,
            )
        verdict = verdicts.get(clean_text(session_id))
        return replace(session, reported=tuple(reported), verdict=verdict)

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


class _Listing:
    """One page of sessions."""

    def __init__(
        self,
        connection: Connection,
        query: SessionQuery,
        postgresql: bool,
        keep: Callable[[Session], bool] | None,
    ) -> None:
        self._connection = connection
        self._query = query
        self._postgresql = postgresql
        self._keep = keep
        self._seen: list[str] = []
        """Sessions that have had their turn, on this page or before it."""

    def page(self, limit: int) -> SessionPage:
        items: list[Session] = []
        cursor = self._query.cursor
        last: str | None = None
        looked_at = 0
        without: Sequence[str] = ()
        while True:
            seen = len(self._seen)
            page = self._find(replace(self._query, cursor=cursor), _TURNS * (limit + 1), without)
            for chunk in self._chunks(page, limit - len(items)):
                loaded = self._loaded([row for _, row in chunk])
                for key, row in chunk:
                    if len(items) == limit:
                        return SessionPage(items=tuple(items), next_cursor=last)
                    if looked_at >= max(MOST_LOOKED_AT, limit):
                        return SessionPage(items=tuple(items), next_cursor=last, partial=True)
                    looked_at += 1
                    last = trace_finder.cursor_of(self._query, key)
                    session = loaded.get(row.session_id)
                    if session is not None and (self._keep is None or self._keep(session)):
                        items.append(session)
            if page.partial or page.next_cursor is None:
                return SessionPage(
                    items=tuple(items), next_cursor=page.next_cursor, partial=page.partial
                )
            cursor = page.next_cursor
            if len(self._seen) - seen < len(page.keys) // _CROWDED:
                without = tuple(self._seen)

    def _chunks(self, page: KeyPage, wanted: int) -> Iterator[list[tuple[Any, Any]]]:
        """Keys and rows of the first turns of sessions: as many as are wanted, then the others."""
        keys = {key.trace_id: key for key in page.keys}
        new = []
        for row in listing.rows_of(self._connection, self._query.project, page.keys):
            if row.session_id not in self._seen:
                self._seen.append(row.session_id)
                new.append((keys[row.trace_id], row))
        size = max(1, min(wanted, _TOGETHER))
        for start in range(0, len(new), size):
            yield new[start : start + size]

    def _loaded(self, rows: Sequence[Any]) -> dict[str, Session]:
        """Sessions with their newest turns, but for those that an earlier page lists."""
        first = rows if self._query.cursor is None else self._first(rows)
        ours = [row.session_id for row in first]
        return load_newest(self._connection, self._query.project, ours, TURNS_IN_A_LIST)

    def _first(self, rows: Sequence[Any]) -> list[Any]:
        """The turns that are the first of their session that fit: no page before has those."""
        columns = (traces.c.trace_id, traces.c.session_id)
        statement = select(*columns).where(
            traces.c.project == self._query.project,
            traces.c.session_id.in_([row.session_id for row in rows]),
            traces.c.session_id.is_not(None),
        )
        turns = self._connection.execute(statement.limit(_MOST_COMPARED + 1)).all()
        if len(turns) > _MOST_COMPARED:
            return [row for row in rows if self._first_of(row.session_id) == row.trace_id]
        session_of = {turn.trace_id: turn.session_id for turn in turns}
        first: dict[str, str] = {}
        for key in trace_finder.fitting(
            self._connection, self._query, list(session_of), postgresql=self._postgresql
        ):
            first.setdefault(session_of[key.trace_id], key.trace_id)
        return [row for row in rows if first.get(row.session_id) == row.trace_id]

    def _first_of(self, session_id: str) -> str | None:
        page = self._find(replace(self._query, cursor=None, session_id=session_id), 1)
        return page.keys[0].trace_id if page.keys else None

    def _find(self, query: SessionQuery, limit: int, without: Sequence[str] = ()) -> KeyPage:
        turns = Turns(without=tuple(without))
        return trace_finder.find(
            self._connection, query, limit, postgresql=self._postgresql, turns=turns
        )


def _load(
    connection: Connection, project: str, session_id: str, limit: int, cursor: str | None = None
) -> Session | None:
    head = _head(connection, project, session_id, limit, cursor)
    if head is None:
        return None
    return _with_turns(connection, project, {session_id: head})[session_id]


def load_newest(
    connection: Connection, project: str, session_ids: Sequence[str], limit: int
) -> dict[str, Session]:
    """Sessions by id, each with its newest turns."""
    return _with_turns(connection, project, _heads(connection, project, session_ids, limit))


def load_whole(
    connection: Connection, project: str, session_ids: Sequence[str], most: int
) -> dict[str, tuple[Session, tuple[date, date]]]:
    """Sessions by id, each with all its turns, and the days by which they are kept, first and last.

    Sessions of more than `most` turns are left out: of each at most one turn more is looked at.
    """
    columns = traces.c
    newest = (columns.started_at.desc(), columns.trace_id.desc())
    heads = {}
    for session_id in session_ids:
        statement = select(*(columns[name] for name in _COLUMNS))
        statement = statement.where(*of_session(project, session_id)).order_by(*newest)
        rows = connection.execute(statement.limit(most + 1)).all()[::-1]
        if 0 < len(rows) <= most:
            ends = rows[0].started_at, rows[-1].started_at
            heads[session_id] = _Head(len(rows), *ends, rows, None)
    sessions = _with_turns(connection, project, heads)
    for name, verdict in load_verdicts(connection, project, list(sessions)).items():
        sessions[name] = replace(sessions[name], verdict=verdict)
    days = {name: [row.day for row in head.rows] for name, head in heads.items()}
    return {name: (sessions[name], (min(own), max(own))) for name, own in days.items()}


class _Head(NamedTuple):
    """A session without what is known of its turns."""

    total: int
    first_at: datetime
    last_at: datetime
    rows: Sequence[Any]
    earlier_cursor: str | None


def _head(
    connection: Connection, project: str, session_id: str, limit: int, cursor: str | None
) -> _Head | None:
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
    earlier = None if more is None else encode_cursor(more.started_at, more.trace_id)
    return _Head(total, first_at, last_at, shown, earlier)


def _heads(
    connection: Connection, project: str, session_ids: Sequence[str], limit: int
) -> dict[str, _Head]:
    """As `_head`, of many sessions at once."""
    if not session_ids:
        return {}
    columns = traces.c
    newest = (columns.started_at.desc(), columns.trace_id.desc())
    whole: dict[str, Any] = {"partition_by": columns.session_id}
    ranked = (
        select(
            columns.session_id,
            columns.trace_id,
            columns.day,
            func.row_number().over(**whole, order_by=newest).label("place"),
            func.count().over(**whole).label("total"),
            func.min(columns.started_at).over(**whole).label("first_at"),
            func.max(columns.started_at).over(**whole).label("last_at"),
        )
        .where(
            columns.project == project,
            columns.session_id.in_(session_ids),
            columns.session_id.is_not(None),
        )
        .subquery()
    )
    statement = select(ranked).where(ranked.c.place <= limit + 1).order_by(ranked.c.place.desc())
    keys: dict[str, list[Any]] = defaultdict(list)
    for key in connection.execute(statement):
        keys[key.session_id].append(key)
    rows = _rows(connection, project, [key for own in keys.values() for key in own])
    heads = {}
    for name, own in keys.items():
        turns = [rows[key.trace_id] for key in own if key.trace_id in rows]
        more = len(turns) > limit
        shown = turns[1:] if more else turns
        earlier = encode_cursor(shown[0].started_at, shown[0].trace_id) if more else None
        heads[name] = _Head(own[0].total, own[0].first_at, own[0].last_at, shown, earlier)
    return heads


def _rows(connection: Connection, project: str, keys: Sequence[Any]) -> dict[str, Any]:
    """Rows of traces by id."""
    rows_by_id: dict[str, Any] = {}
    for start in range(0, len(keys), LOOKUP):
        part = keys[start : start + LOOKUP]
        statement = select(*(traces.c[name] for name in _COLUMNS)).where(
            traces.c.project == project,
            traces.c.trace_id.in_([key.trace_id for key in part]),
            traces.c.day.in_({key.day for key in part}),
        )
        rows_by_id.update({row.trace_id: row for row in connection.execute(statement)})
    return rows_by_id


def _with_turns(
    connection: Connection, project: str, heads: Mapping[str, _Head]
) -> dict[str, Session]:
    rows = [row for head in heads.values() for row in head.rows]
    turns = {turn.trace_id: turn for turn in _turns(connection, project, rows)}
    return {
        name: Session(
            session_id=name,
            total=head.total,
            first_at=head.first_at,
            last_at=head.last_at,
            turns=tuple(turns[row.trace_id] for row in head.rows),
            earlier_cursor=head.earlier_cursor,
        )
        for name, head in heads.items()
    }


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
