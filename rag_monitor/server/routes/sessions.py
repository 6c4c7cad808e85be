"""Sessions: traces that belong together as a conversation."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from pydantic import Field

from rag_monitor.domain.session import SessionQuery
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Reader, ServicesOf
from rag_monitor.server.problems import AskedLanguage, ProblemError
from rag_monitor.server.schemas.sessions import SessionDetail, SessionList
from rag_monitor.server.schemas.values import Given, Moment, Name, UserId
from rag_monitor.server.validation import OnceRoute, sentences, unknown_names
from rag_monitor.store.sessions import MOST_TURNS

router = APIRouter(prefix="/api/v1", tags=[msgid("Sessions")], route_class=OnceRoute)

_BAD_CURSOR: Final = "`cursor`: is not one this server gave; start again without it."
Cursor = Annotated[str, Field(max_length=1000)]
SessionId = Annotated[
    str, Path(min_length=1, max_length=1000, pattern=r"^[^\x00]+$", description="URL-encoded.")
]


class SessionFilter(Given):
    """Which sessions to list: those with a turn that fits all filters."""

    app: Name | None = None
    release: Name | None = None
    environment: Name | None = None
    user: UserId | None = Field(default=None, description="Who asked.")
    tag: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None
    cursor: Cursor | None = Field(default=None, description="`next_cursor` of the page before.")
    limit: int = Field(default=50, ge=1, le=200)

    def to_domain(self, project: str) -> SessionQuery:
        """The query of this project.

        Raises:
            ProblemError: 422 for filters that contradict one another.
        """
        if self.from_ and self.to and self.from_ >= self.to:
            raise ProblemError(422, "`from`: must be earlier than `to`.")
        return SessionQuery(
            project=project,
            app=self.app,
            release=self.release,
            environment=self.environment,
            user_id=self.user,
            tag=self.tag,
            since=self.from_,
            until=self.to,
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
    """List sessions, the one with the newest turn that fits first."""
    query = where.to_domain(caller.project)
    try:
        with services.reading():
            page = services.sessions.search(query)
    except MalformedPayload as error:
        raise ProblemError(422, _BAD_CURSOR) from error
    if page.items or where.cursor is not None:
        return SessionList.from_domain(page)
    unknown = unknown_names(services, caller.project, app=where.app, release=where.release)
    return SessionList.from_domain(page, sentences(unknown, language))


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
