"""Sessions: traces that belong together as a conversation."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from pydantic import Field

from rag_monitor.aggregation.sessions import keeps
from rag_monitor.domain.filters import BY_NAME
from rag_monitor.domain.session import SessionQuery
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Reader, ServicesOf
from rag_monitor.server.problems import AskedLanguage, ProblemError
from rag_monitor.server.schemas.filters import FilterFields
from rag_monitor.server.schemas.sessions import SessionDetail, SessionList
from rag_monitor.server.schemas.values import Given, UserId
from rag_monitor.server.validation import OnceRoute, sentences, unknown_names, waiting_for_index
from rag_monitor.store.sessions import MOST_TURNS

router = APIRouter(prefix="/api/v1", tags=[msgid("Sessions")], route_class=OnceRoute)

_BAD_CURSOR: Final = "`cursor`: is not one this server gave for this order; start again without it."
Cursor = Annotated[str, Field(max_length=1000)]
SessionId = Annotated[
    str, Path(min_length=1, max_length=1000, pattern=r"^[^\x00]+$", description="URL-encoded.")
]


class SessionFilter(FilterFields):
    """Which sessions to list: those with a turn that fits all filters."""

    user_id: UserId | None = Field(default=None, alias="user", description=BY_NAME["user_id"].help)
    resolved: bool | None = Field(
        default=None, description="Only sessions that are, or are not, resolved."
    )
    cursor: Cursor | None = Field(default=None, description="`next_cursor` of the page before.")
    limit: int = Field(default=50, ge=1, le=200)

    def to_domain(self, project: str) -> SessionQuery:
        """The query of this project.

        Raises:
            ProblemError: 422 for filters that contradict one another.
        """
        return SessionQuery(
            project=project,
            **self.common(),
            resolved=self.resolved,
            cursor=self.cursor,
            limit=self.limit,
        )


class TurnsQuery(Given):
    """Which turns of a session."""

    cursor: Cursor | None = Field(
        default=None, description="`earlier_cursor` of the turns after those wanted."
    )
    limit: int = Field(default=MOST_TURNS, ge=1, le=MOST_TURNS)


@router.get("/sessions")
def list_sessions(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[SessionFilter, Query()],
) -> SessionList:
    """List sessions with a turn that fits all filters; each stands where its first such turn does.

    The one with the newest such turn comes first, or another in the order asked for.
    """
    query = where.to_domain(caller.project)
    try:
        with services.reading():
            page = services.sessions.search(query, keeps(query))
    except MalformedPayload as error:
        raise ProblemError(422, _BAD_CURSOR) from error
    if where.cursor is not None:
        return SessionList.from_domain(page)
    hints = waiting_for_index(page.indexed_since, language)
    if not page.items:
        unknown = unknown_names(services, caller.project, app=where.app, release=where.release)
        hints += sentences(unknown, language)
    return SessionList.from_domain(page, hints)


@router.get("/sessions/{session_id:path}")
def read_session(
    services: ServicesOf,
    caller: Reader,
    session_id: SessionId,
    where: Annotated[TurnsQuery, Query()],
) -> SessionDetail:
    """One session: its turns in order, with answers, scores, timings, hits, faults and marks."""
    try:
        with services.reading():
            session = services.sessions.get(
                caller.project, session_id, cursor=where.cursor, limit=where.limit
            )
    except MalformedPayload as error:
        raise ProblemError(422, _BAD_CURSOR) from error
    return SessionDetail.from_domain(session)
