"""The list of sessions, and one session read as a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.aggregation.sessions import keeps, session_metrics
from rag_monitor.domain.session import SessionPage, SessionQuery
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.errors import MalformedPayload, NotFound
from rag_monitor.i18n import Message, msgid
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.quality import SCORE_METRICS
from rag_monitor.server.ui.filter_form import (
    DIRECTIONS,
    METRICS,
    ORDERS,
    PARAMETERS,
    SORTS,
    TIMES,
    Chip,
    FilterForm,
)
from rag_monitor.server.ui.period import moment_in
from rag_monitor.server.ui.usual import Usual
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import unknown_names

router = APIRouter(include_in_schema=False)

NO_SUCH_SESSION: Final = Message(
    "There is no such session: its traces never arrived, were erased, or are older than traces "
    "are kept."
)
_ALSO: Final = ("resolved",)
_FILTERS: Final = (*PARAMETERS, *TIMES, *ORDERS, *_ALSO)
RESOLVED: Final = {"true": msgid("yes"), "false": msgid("no")}
_PER_PAGE: Final = 25


@router.get("/sessions")
def sessions(me: Viewer) -> HTMLResponse:
    """Sessions, the one with the newest turn that fits first, or in another order."""
    form = FilterForm.read(me, *_ALSO, "cursor")
    with me.services.reading():
        listed = _search(me, form)
        apps = [app.app for app in me.services.traces.apps(me.principal.project)]
    app, release = form["app"] or None, form["release"] or None
    values = {name: form[name] for name in _FILTERS if form[name]}
    return page(
        me,
        "sessions.html",
        {
            "form": form.values,
            "sessions": [(session, session_metrics(session)) for session in listed.items],
            "apps": apps,
            "metrics": METRICS,
            "usual": Usual.on_page(
                me, [one.turns[-1].app for one in listed.items], (*SCORE_METRICS, *SESSION_METRICS)
            ),
            "statuses": list(TraceStatus),
            "filters": values,
            "fields": form.fields(me),
            "chips": [*form.chips(me, "/sessions", *_ALSO), *_resolved_chip(me, values)],
            "sorts": SORTS,
            "directions": DIRECTIONS,
            "times": {name: moment_in(form[name], me.zone) for name in ("from", "to")},
            "unknown": me.not_applied(*_FILTERS) | _unusable(me, form),
            "hints": unknown_names(
                me.services, me.principal.project, app=app, release=release, apps=apps
            )
            if not listed.items and not form["cursor"]
            else [],
            "next": me.link("/sessions", **values, cursor=listed.next_cursor),
            "next_cursor": listed.next_cursor,
            "partial": listed.partial,
            "indexed_since": listed.indexed_since,
            "resolved": RESOLVED,
        },
    )


def _search(me: Visitor, form: FilterForm) -> SessionPage:
    query = SessionQuery(
        project=me.principal.project,
        **form.query(me),
        resolved={"true": True, "false": False}.get(form["resolved"]),
        cursor=form["cursor"] or None,
        limit=_PER_PAGE,
    )
    try:
        return me.services.sessions.search(query, keeps(query))
    except MalformedPayload:
        return me.services.sessions.search(replace(query, cursor=None), keeps(query))


def _resolved_chip(me: Visitor, values: Mapping[str, str]) -> list[Chip]:
    if values.get("resolved") not in RESOLVED:
        return []
    return [
        Chip(
            name="resolved",
            label=me.translate(msgid("Resolved")),
            value=me.translate(RESOLVED[values["resolved"]]),
            address=me.link("/sessions", **dict(values, resolved="")),
        )
    ]


def _unusable(me: Visitor, form: FilterForm) -> dict[str, str]:
    """What is left out as it cannot be used."""
    unusable = form.unusable(me)
    if form["resolved"] and form["resolved"] not in RESOLVED:
        unusable["resolved"] = form["resolved"]
    return unusable


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
            "usual": Usual.on_page(
                me, [turn.app for turn in whole.turns], (*SCORE_METRICS, *SESSION_METRICS)
            ),
            "in_api": f"/api/v1/sessions/{quote(session_id, safe='')}",
            "earlier": me.link("/session", id=session_id, cursor=whole.earlier_cursor),
        },
    )
