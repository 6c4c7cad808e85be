"""The list of traces: filters, search and views."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rag_monitor.domain.stored import SearchIn, TracePage, TraceQuery, TraceSummary
from rag_monitor.domain.trace import TraceStatus, derive_trace_id
from rag_monitor.errors import MalformedPayload
from rag_monitor.i18n import msgid
from rag_monitor.server.ui.filter_form import (
    DIRECTIONS,
    IN_TABLE,
    METRICS,
    ORDERS,
    PARAMETERS,
    SORTS,
    TIMES,
    FilterForm,
)
from rag_monitor.server.ui.period import moment_in
from rag_monitor.server.ui.question_title import around, title_of
from rag_monitor.server.ui.saved_views import MAX_VIEWS, SHIPPED, saved_views
from rag_monitor.server.ui.usual import Usual
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import Unknown, unknown_names

router = APIRouter(include_in_schema=False)

TRACES_PER_PAGE: Final = 50
_ALSO: Final = ("q", "in", "view")
FILTERS: Final = (*PARAMETERS, *TIMES, *ORDERS, *_ALSO)
"""What makes a list, and a view of it."""
_LAYOUT: Final = frozenset({*ORDERS, "view"})
_LIMITS: Final = frozenset({"below", "above"})
_CARDS: Final = msgid("Cards")
_TABLE: Final = msgid("Table")
_MOST_COLUMNS: Final = 6
"""Metrics of a table."""
SEARCHED: Final = {
    SearchIn.QUESTION: msgid("questions"),
    SearchIn.ANSWER: msgid("answers"),
    SearchIn.PASSAGES: msgid("passages"),
}
"""What a search looks through, in English; translated."""
_TRACE_ID: Final = re.compile(r"[0-9a-fA-F]{32}")
_DURING: Final = re.compile(r"(\d{1,11})-(\d{1,11})")
"""As `charts.time_chart.during` writes it."""
_IN_A_ROW: Final = 220
"""Characters of an answer that a row shows."""
_MOST_APPS: Final = 50
"""Of more, an id of the sender's own is not looked for in all."""


@router.get("/traces")
def traces(me: Viewer) -> Response:
    """Traces, with filters; who looks for the id of one gets that."""
    if interval := _DURING.fullmatch(me.request.query_params.get("during", "")):
        return _between(me, *(int(end) for end in interval.groups()))
    form = FilterForm.read(me, *_ALSO, "cursor")
    if not form["q"] or form["in"] == SearchIn.QUESTION:
        form = form.with_values({"in": ""})
    if _TRACE_ID.fullmatch(form["q"]) and not form["cursor"]:
        summaries = me.services.traces.summaries(me.principal.project, [form["q"].lower()])
        if summaries:
            return RedirectResponse(me.link(f"/traces/{summaries[0].trace_id}"), 303)
    return _listed(me, form, [app.app for app in me.services.traces.apps(me.principal.project)])


def _between(me: Visitor, start: int, end: int) -> RedirectResponse:
    """To the same list between two moments, in Unix seconds, with an address for people."""
    query = {name: value for name, value in me.request.query_params.items() if name != "during"}
    ends = (f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%MZ}" for moment in (start, end))
    return RedirectResponse(
        me.link("/traces", **query | dict(zip(("from", "to"), ends, strict=True))), 303
    )


def _listed(me: Visitor, form: FilterForm, apps: Sequence[str]) -> HTMLResponse:
    try:
        trace_page = me.services.traces.search(_query(me, form, form["cursor"]))
    except MalformedPayload:
        trace_page = me.services.traces.search(_query(me, form, ""))
    values = {name: form[name] for name in FILTERS if form[name]}
    return page(
        me,
        "traces.html",
        {
            "form": form.values,
            "found": trace_page,
            "named": _named(me, form.values, apps),
            "answers": _answers(form.values, trace_page),
            "searched": SEARCHED,
            "elsewhere": _elsewhere(me, form.values) if not trace_page.items else {},
            "apps": apps,
            "metrics": METRICS,
            "usual": Usual.on_page(me, [row.app for row in trace_page.items], METRICS),
            "columns": _columns(trace_page),
            "statuses": list(TraceStatus),
            "next": me.link("/traces", **values, cursor=trace_page.next_cursor),
            "filtered": any(name not in _LAYOUT for name in values),
            "hints": _hints(me, form.values, apps)
            if not trace_page.items and not form["cursor"]
            else [],
            "unknown": me.not_applied(*FILTERS) | _unknown_values(me, form),
            "times": {name: moment_in(form[name], me.zone) for name in ("from", "to")},
            "ignored": bool(form.unusable(me).keys() & _LIMITS),
            "filters": values,
            "fields": form.fields(me),
            "chips": form.chips(me, "/traces", *_ALSO),
            "sorts": SORTS,
            "directions": DIRECTIONS,
            "layouts": _layouts(me, values),
            "views": saved_views(me.request, FILTERS),
            "shipped_views": SHIPPED,
            "most_views": MAX_VIEWS,
        },
    )


def _query(me: Visitor, form: FilterForm, cursor: str) -> TraceQuery:
    return TraceQuery(
        project=me.principal.project,
        **form.query(me),
        q=form["q"] or None,
        q_in=SearchIn(form["in"]) if form["in"] in set(SearchIn) else SearchIn.QUESTION,
        cursor=cursor or None,
        limit=TRACES_PER_PAGE,
    )


def _layouts(me: Visitor, values: Mapping[str, str]) -> dict[str, str | None]:
    """What the list may look like, and the address that shows it so; None: it does."""
    in_table = values.get("view") == IN_TABLE
    return {
        _CARDS: me.link("/traces", **dict(values, view="")) if in_table else None,
        _TABLE: None if in_table else me.link("/traces", **dict(values, view=IN_TABLE)),
    }


def _columns(trace_page: TracePage) -> list[str]:
    """The metrics that some trace of the page has a score of."""
    return [
        metric
        for metric in METRICS
        if any(row.scores.get(metric) is not None for row in trace_page.items)
    ][:_MOST_COLUMNS]


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
    kept = {name: values[name] for name in FILTERS}
    return {
        label: me.link("/traces", **{**kept, "in": where.value})
        for where, label in SEARCHED.items()
        if where.value != here
    }


def _hints(me: Visitor, form: Mapping[str, str], apps: Sequence[str]) -> list[Unknown]:
    """The filters that empty the list because nothing stored has such a value."""
    app, release = form["app"] or None, form["release"] or None
    return unknown_names(me.services, me.principal.project, app=app, release=release, apps=apps)


def _unknown_values(me: Visitor, form: FilterForm) -> dict[str, str]:
    """The filters that are left out, but for limits of scores: of them a sentence tells."""
    unknown = {name: v for name, v in form.unusable(me).items() if name not in _LIMITS}
    if form["in"] and form["in"] not in set(SearchIn):
        unknown["in"] = form["in"]
    if form["view"] not in {"", IN_TABLE}:
        unknown["view"] = form["view"]
    return unknown
