"""The list of sessions, and one session read as a conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.aggregation.sessions import session_metrics
from rag_monitor.domain.session import SessionPage, SessionQuery
from rag_monitor.errors import MalformedPayload, NotFound
from rag_monitor.i18n import Message
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.quality import SCORE_METRICS
from rag_monitor.server.ui.period import length_of, moment_in
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import unknown_names

router = APIRouter(include_in_schema=False)

NO_SUCH_SESSION: Final = Message(
    "There is no such session: its traces never arrived, were erased, or are older than traces "
    "are kept."
)
_FILTERS: Final = ("app", "release", "environment", "user", "tag", "since", "from", "to")
_PER_PAGE: Final = 25


@router.get("/sessions")
def sessions(me: Viewer) -> HTMLResponse:
    """Sessions, the one with the newest activity first."""
    query = me.request.query_params
    form = {name: query.get(name, "").strip()[:500] for name in (*_FILTERS, "cursor")}
    with me.services.reading():
        listed = _search(me, form)
        apps = [app.app for app in me.services.traces.apps(me.principal.project)]
    app, release = form["app"] or None, form["release"] or None
    values = {name: form[name] for name in _FILTERS if form[name]}
    return page(
        me,
        "sessions.html",
        {
            "form": form,
            "sessions": [(session, session_metrics(session)) for session in listed.items],
            "apps": apps,
            "filters": values,
            "unknown": me.not_applied(*_FILTERS) | _unusable(me, form),
            "hints": unknown_names(
                me.services, me.principal.project, app=app, release=release, apps=apps
            )
            if not listed.items and not form["cursor"]
            else [],
            "next": me.link("/sessions", **values, cursor=listed.next_cursor),
            "next_cursor": listed.next_cursor,
        },
    )


def _search(me: Visitor, form: dict[str, str]) -> SessionPage:
    since, until = (moment_in(form[name], me.zone) for name in ("from", "to"))
    length = length_of(form["since"])
    if since is None and length is not None:
        since = (until or me.services.clock.now()) - length
    query = SessionQuery(
        project=me.principal.project,
        app=form["app"] or None,
        release=form["release"] or None,
        environment=form["environment"] or None,
        user_id=form["user"] or None,
        tag=form["tag"] or None,
        since=since,
        until=until,
        cursor=form["cursor"] or None,
        limit=_PER_PAGE,
    )
    try:
        return me.services.sessions.search(query)
    except MalformedPayload:
        return me.services.sessions.search(replace(query, cursor=None))


def _unusable(me: Visitor, form: dict[str, str]) -> dict[str, str]:
    """Times that are none; they are left out."""
    usable = {
        "since": length_of(form["since"]) is not None,
        "from": moment_in(form["from"], me.zone) is not None,
        "to": moment_in(form["to"], me.zone) is not None,
    }
    return {name: form[name] for name, good in usable.items() if form[name] and not good}


@router.get("/session")
def session(me: Viewer) -> HTMLResponse:
    """One session: what was asked and answered in turn.

    Its id is a query parameter: it may hold any character, and paths lose some on their way.
    """
    project, query = me.principal.project, me.request.query_params
    session_id = query.get("id", "")[:1000]
    cursor = query.get("cursor") or None
    read = me.services.sessions.get
    try:
        with me.services.reading():
            try:
                whole = read(project, session_id, cursor=cursor)
            except MalformedPayload:
                whole = read(project, session_id)
    except NotFound:
        raise ProblemError(404, NO_SUCH_SESSION, kind="not-found") from None
    return page(
        me,
        "session.html",
        {
            "session": whole,
            "measured": session_metrics(whole),
            "metrics": SCORE_METRICS,
            "earlier": me.link("/session", id=session_id, cursor=whole.earlier_cursor),
        },
    )
