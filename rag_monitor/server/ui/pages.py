"""The pages on traces, and the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.domain.alert import RuleKind, Severity
from rag_monitor.domain.decision import SamplingDecision
from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import KeyScope, TraceQuery
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.errors import MalformedPayload, NotFound
from rag_monitor.server.hints import Unknown, unknown_names
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.quality import SCORE_METRICS
from rag_monitor.server.ui import charts, new_key
from rag_monitor.server.ui.highlight import answer_pieces, passage_views, support_verdicts
from rag_monitor.server.ui.period import length_of, moment_in
from rag_monitor.server.ui.rule_form import RULE_METRICS, parameters, rule_form
from rag_monitor.server.ui.saved_views import MAX_VIEWS, SHIPPED, saved_views
from rag_monitor.server.ui.view import Viewer, Visitor, page

router = APIRouter(include_in_schema=False)

TRACES_PER_PAGE: Final = 50
FILTERS: Final = ("app", "release", "metric", "below", "status", "q", "since", "from", "to")
NO_SUCH_TRACE: Final = (
    "There is no such trace: it never arrived, was erased, or is older than traces are kept."
)
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")


@router.get("/traces")
def traces(me: Viewer) -> HTMLResponse:
    """Traces, with filters."""
    form = {
        name: me.request.query_params.get(name, "").strip()[:500] for name in (*FILTERS, "cursor")
    }
    if moment_in(form["from"], me.zone) is not None:
        form["since"] = ""  # a beginning goes before a length
    if _TRACE_ID.fullmatch(form["q"]):
        form["q"] = form["q"].lower()
    try:
        found = me.services.traces.search(_query(me, form))
    except MalformedPayload:
        found = me.services.traces.search(_query(me, form | {"cursor": ""}))
    values = {key: value for key, value in form.items() if key != "cursor"}
    return page(
        me,
        "traces.html",
        {
            "form": form,
            "found": found,
            "apps": me.services.traces.apps(me.principal.project),
            "metrics": SCORE_METRICS,
            "statuses": list(TraceStatus),
            "next": me.link("/traces", **values, cursor=found.next_cursor),
            "filtered": any(values.values()),
            "hints": _hints(me, form) if not found.items and not form["cursor"] else [],
            "unknown": _unknown_values(me, form),
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
        since=since,
        until=until,
        metric=metric,
        below=_ratio(form["below"]) if metric else None,
        status=TraceStatus(form["status"]) if form["status"] in set(TraceStatus) else None,
        q=form["q"] or None,
        cursor=form["cursor"] or None,
        limit=TRACES_PER_PAGE,
    )


def _ends(me: Visitor, form: Mapping[str, str]) -> tuple[datetime | None, datetime | None]:
    """From when to when; a length ends where the rest does."""
    since, until = (moment_in(form[name], me.zone) for name in ("from", "to"))
    length = length_of(form["since"])
    if since is None and length is not None:
        since = (until or me.services.clock.now()) - length
    return since, until


def _hints(me: Visitor, form: Mapping[str, str]) -> list[Unknown]:
    """The filters that empty the list because nothing stored has such a value."""
    app, release = form["app"] or None, form["release"] or None
    return unknown_names(me.services, me.principal.project, app=app, release=release)


def _unknown_values(me: Visitor, form: Mapping[str, str]) -> dict[str, str]:
    """The filters whose value is none of those there are; they are left out."""
    usable = {
        "metric": form["metric"] in SCORE_METRICS,
        "status": form["status"] in set(TraceStatus),
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


@router.get("/traces/{trace_id}")
def trace(me: Viewer, trace_id: str) -> HTMLResponse:
    """One trace: what was asked, found and answered, and what the judge said of it."""
    if not _TRACE_ID.fullmatch(trace_id):
        raise ProblemError(404, NO_SUCH_TRACE, kind="not-found")
    try:
        stored = me.services.traces.get(me.principal.project, trace_id.lower())
    except NotFound:
        raise ProblemError(404, NO_SUCH_TRACE, kind="not-found") from None
    it = stored.trace
    contexts = it.contexts or ()
    support = support_verdicts(stored.scores)
    return page(
        me,
        "trace.html",
        {
            "stored": stored,
            "trace": it,
            "pieces": answer_pieces(it.answer or "", support),
            "judged": bool(support),
            "judges": _by_judge(stored.scores),
            "about": "faithfulness" if contexts else "",
            "passages": list(
                zip(contexts, passage_views(stored.scores, len(contexts)), strict=True)
            ),
            "timeline": charts.timeline(
                charts.phases_of(it, me.translate),
                it.timings.first_byte_ms,
                me.translate("First byte"),
                me.translate("Where the time went"),
            ),
            "thanks": me.request.query_params.get("thanks", ""),
            "queue": "queue" in me.request.query_params,
            "used": _used(stored.decisions),
        },
    )


def _used(decisions: Sequence[SamplingDecision]) -> dict[str, JudgeUsage]:
    """What judging the trace used, by the judge's configured name."""
    return {one.judge: one.usage for one in decisions if one.usage is not None}


def _by_judge(scores: Sequence[Score]) -> dict[str, list[Score]]:
    """The scores under the judge that gave them, so that its long name stands once."""
    found: dict[str, list[Score]] = {}
    for score in sorted(scores, key=_place):
        found.setdefault(str(score.judge or ""), []).append(score)
    return found


def _place(score: Score) -> tuple[bool, int]:
    """Numbers before reasons; otherwise the order of every page."""
    known = score.metric in SCORE_METRICS
    place = SCORE_METRICS.index(score.metric) if known else len(SCORE_METRICS)
    return score.status is ScoreStatus.NOT_APPLICABLE, place


@router.get("/settings")
def settings(me: Viewer) -> HTMLResponse:
    """Rules and keys."""
    response = settings_page(me, secret=new_key.carried(me))
    new_key.forget(me, response)
    return response


def settings_page(
    me: Visitor,
    *,
    problem: str | None = None,
    secret: str | None = None,
    form: Mapping[str, str] | None = None,
    key_form: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HTMLResponse:
    """The settings, with a new key that is shown this once, or a form that was refused.

    Args:
        me: Who looks.
        problem: What was wrong with the form.
        secret: The new key.
        form: The refused form of a rule; `original` is the name it was opened with.
        key_form: The refused form of a key.
        status: Of the answer.
    """
    rules = me.services.rules.all(me.principal.project)
    edited = me.request.query_params.get("rule") if form is None else form["original"]
    rule = next((r for r in rules if r.name == edited), None)
    keys = (
        me.services.keys.list(me.principal.project) if me.principal.allows(KeyScope.ADMIN) else []
    )
    return page(
        me,
        "settings.html",
        {
            "rules": rules,
            "rule": rule,
            "given": form if form is not None else rule_form(rule),
            "refused_rule": form is not None,
            "given_key": key_form or {"name": "", "scopes": [KeyScope.INGEST.value]},
            "kinds": list(RuleKind),
            "rule_metrics": RULE_METRICS,
            "rule_params": {kind: parameters(kind) for kind in RuleKind},
            "apps": [known.app for known in me.services.traces.apps(me.principal.project)],
            "severities": list(Severity),
            "scopes": list(KeyScope),
            "keys": sorted(keys, key=lambda key: key.created_at, reverse=True),
            "problem": problem,
            "secret": secret,
            "options": me.services.options,
            "setup": me.services.setup,
            "judges": me.services.judges(),
        },
        status,
    )
