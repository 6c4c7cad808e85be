"""The list of traces: filters, search and views."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rag_monitor.domain.stored import SearchIn, TracePage, TraceQuery, TraceSummary
from rag_monitor.domain.trace import TraceStatus, derive_trace_id
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid
from rag_monitor.server.quality import SCORE_METRICS
from rag_monitor.server.ui.period import length_of, moment_in
from rag_monitor.server.ui.question_title import around, title_of
from rag_monitor.server.ui.saved_views import MAX_VIEWS, SHIPPED, saved_views
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import Unknown, unknown_names

router = APIRouter(include_in_schema=False)

TRACES_PER_PAGE: Final = 50
FILTERS: Final = (
    *("app", "release", "metric", "below", "status", "q", "in", "since"),
    *("from", "to", "user"),
)
SEARCHED: Final = {
    SearchIn.QUESTION: msgid("questions"),
    SearchIn.ANSWER: msgid("answers"),
    SearchIn.PASSAGES: msgid("passages"),
}
"""What a search looks through, in English; translated."""
_TRACE_ID: Final = re.compile(r"[0-9a-fA-F]{32}")
_IN_A_ROW: Final = 220
"""Characters of an answer that a row shows."""
_MOST_APPS: Final = 50
"""Of more, an id of the sender's own is not looked for in all."""


@router.get("/traces")
def traces(me: Viewer) -> Response:
    """Traces, with filters; who looks for the id of one gets that."""
    form = {
        name: me.request.query_params.get(name, "").strip()[:500] for name in (*FILTERS, "cursor")
    }
    if moment_in(form["from"], me.zone) is not None:
        form["since"] = ""  # a beginning goes before a length
    if not form["q"] or form["in"] == SearchIn.QUESTION:
        form["in"] = ""
    if _TRACE_ID.fullmatch(form["q"]) and not form["cursor"]:
        summaries = me.services.traces.summaries(me.principal.project, [form["q"].lower()])
        if summaries:
            return RedirectResponse(me.link(f"/traces/{summaries[0].trace_id}"), 303)
    return _listed(me, form, [app.app for app in me.services.traces.apps(me.principal.project)])


def _listed(me: Visitor, form: dict[str, str], apps: Sequence[str]) -> HTMLResponse:
    try:
        trace_page = me.services.traces.search(_query(me, form))
    except MalformedPayload:
        trace_page = me.services.traces.search(_query(me, form | {"cursor": ""}))
    values = {key: value for key, value in form.items() if key != "cursor"}
    return page(
        me,
        "traces.html",
        {
            "form": form,
            "found": trace_page,
            "named": _named(me, form, apps),
            "answers": _answers(form, trace_page),
            "searched": SEARCHED,
            "elsewhere": _elsewhere(me, values) if not trace_page.items else {},
            "apps": apps,
            "metrics": SCORE_METRICS,
            "statuses": list(TraceStatus),
            "next": me.link("/traces", **values, cursor=trace_page.next_cursor),
            "filtered": any(values.values()),
            "hints": _hints(me, form, apps) if not trace_page.items and not form["cursor"] else [],
            "unknown": me.not_applied(*FILTERS) | _unknown_values(me, form),
            "times": {name: moment_in(form[name], me.zone) for name in ("from", "to")},
            "ignored": _limit_is_ignored(form),
            "filters": {name: value for name, value in values.items() if value},
            "views": saved_views(me.request, FILTERS),
            "shipped_views": SHIPPED,
            "most_views": MAX_VIEWS,
        },
    )


def _query(me: Visitor, form: dict[str, str]) -> TraceQuery:
    metric = form["metric"] if form["metric"] in SCORE_METRICS else None
    since, until = _ends(me, form)
    return TraceQuery(
        project=me.principal.project,
        app=form["app"] or None,
        release=form["release"] or None,
        user_id=form["user"] or None,
        since=since,
        until=until,
        metric=metric,
        below=_ratio(form["below"]) if metric else None,
        status=TraceStatus(form["status"]) if form["status"] in set(TraceStatus) else None,
        q=form["q"] or None,
        q_in=SearchIn(form["in"]) if form["in"] in set(SearchIn) else SearchIn.QUESTION,
        cursor=form["cursor"] or None,
        limit=TRACES_PER_PAGE,
    )


def _named(me: Visitor, form: Mapping[str, str], apps: Sequence[str]) -> list[TraceSummary]:
    """The traces whose id is looked for, as their sender gave it to them."""
    q, project = form["q"], me.principal.project
    if not q or form["cursor"] or len(q.split()) > 1 or _TRACE_ID.fullmatch(q):
        return []
    searched = [app for app in apps if form["app"] in {"", app}]
    ids = [derive_trace_id(project, app, q) for app in searched[:_MOST_APPS]]
    return list(me.services.traces.summaries(project, ids)) if ids else []


def _answers(form: Mapping[str, str], trace_page: TracePage) -> dict[str, str]:
    """What a row shows of its answer, by trace: the place at which the text stands."""
    wanted = form["q"] if form["in"] == SearchIn.ANSWER else ""
    return {
        row.trace_id: around(row.answer, wanted, _IN_A_ROW)
        if wanted
        else title_of(row.answer, _IN_A_ROW)
        for row in trace_page.items
    }


def _elsewhere(me: Visitor, values: Mapping[str, str]) -> dict[str, str]:
    """Where else the text may stand: what is searched there, and the address that does."""
    if not values["q"]:
        return {}
    here = values["in"] or SearchIn.QUESTION.value
    return {
        label: me.link("/traces", **{**values, "in": where.value})
        for where, label in SEARCHED.items()
        if where.value != here
    }


def _ends(me: Visitor, form: Mapping[str, str]) -> tuple[datetime | None, datetime | None]:
    """From when to when; a length ends where the rest does."""
    since, until = (moment_in(form[name], me.zone) for name in ("from", "to"))
    length = length_of(form["since"])
    if since is None and length is not None:
        since = (until or me.services.clock.now()) - length
    return since, until


def _hints(me: Visitor, form: Mapping[str, str], apps: Sequence[str]) -> list[Unknown]:
    """The filters that empty the list because nothing stored has such a value."""
    app, release = form["app"] or None, form["release"] or None
    return unknown_names(me.services, me.principal.project, app=app, release=release, apps=apps)


def _unknown_values(me: Visitor, form: Mapping[str, str]) -> dict[str, str]:
    """The filters whose value is none of those there are; they are left out."""
    usable = {
        "metric": form["metric"] in SCORE_METRICS,
        "status": form["status"] in set(TraceStatus),
        "in": form["in"] in set(SearchIn),
        "since": length_of(form["since"]) is not None,
        "from": moment_in(form["from"], me.zone) is not None,
        "to": moment_in(form["to"], me.zone) is not None,
    }
    return {name: form[name] for name, good in usable.items() if form[name] and not good}


def _limit_is_ignored(form: Mapping[str, str]) -> bool:
    """Whether `below` was given in a way that cannot hold."""
    usable = form["metric"] in SCORE_METRICS and _ratio(form["below"]) is not None
    return bool(form["below"]) and not usable


def _ratio(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
