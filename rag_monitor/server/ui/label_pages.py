"""What people are asked: the list of what waits, and one trace at a time, blind until answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.label_eligibility import ENOUGH_LABELS
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.label import CANNOT_TELL, NOT_SUPPORTED, QUESTION, SUPPORTED
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import KeyScope, StoredTrace
from rag_monitor.domain.window import Series, Window
from rag_monitor.i18n import msgid
from rag_monitor.metrics.rag import is_bad
from rag_monitor.server.marks import keep_feedback, what_it_does
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.ui.pages import NO_SUCH_TRACE, stored_trace
from rag_monitor.server.ui.reviewer import MAX_NAME, clean_name, keep_reviewer, reviewer_of
from rag_monitor.server.ui.sent_form import Form, Sent
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import unknown_names
from rag_monitor.store.label_queue import LabelQuery

router = APIRouter(include_in_schema=False)

SHOWN: Final = 50
MOST_LINKS: Final = 12
"""So many apps have a link each, and their progress; more are chosen from a list."""
WITHIN: Final = timedelta(days=7)
MOST_COMMENT: Final = 4000
REASONS: Final = {
    "people_disagree": (
        msgid("people disagree"),
        msgid("As many people say yes as no: one more settles it."),
    ),
    "drawn": (
        msgid("drawn for people"),
        msgid("Drawn by chance: only such marks may correct the estimates."),
    ),
    "judges_disagree": (
        msgid("judges disagree"),
        msgid("One judge flags this answer, another does not."),
    ),
    "unsure": (
        msgid("judge unsure"),
        msgid("The judge's probability is near one half."),
    ),
}
"""Badge and explanation of a `LabelReason`, in English; both are translated."""
ANSWERS: Final = {
    "supported": (SUPPORTED, msgid("Supported")),
    "not_supported": (NOT_SUPPORTED, msgid("Not supported")),
    "cannot_tell": (CANNOT_TELL, msgid("Cannot tell")),
}
"""Value and words of each answer to the question, in the order of the keys 1, 2, 3."""
JUDGED_ON: Final = (QUESTION, "answer_supported")
"""What judges say to the same question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an app is from the correction of its judge."""

    app: str
    marked: int
    """Traces drawn for people that have a mark which corrects the judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSays:
    """One judge's answer to the question."""

    judge: str
    scores: Sequence[Score]
    supported: bool


@router.get("/labels")
def labels(me: Viewer) -> HTMLResponse:
    """Traces that wait for a mark of this reviewer, the most telling first."""
    app = _app_of(me)
    with me.services.reading():
        tasks = me.services.label_queue.waiting(_query(me, app), SHOWN)
        apps = me.services.traces.apps(me.principal.project)
        unknown = [] if tasks else unknown_names(me.services, me.principal.project, app=app or None)
        newest = sorted(apps, key=lambda one: one.last_seen, reverse=True)
        followed = [one.app for one in newest if app in {"", one.app}][:MOST_LINKS]
        progress = [shown for one in sorted(followed) if (shown := _progress(me, one))]
    return page(
        me,
        "labels.html",
        {
            "tasks": tasks,
            "hints": unknown,
            "refused": me.not_applied("app"),
            "apps": apps,
            "app": app,
            "most_links": MOST_LINKS,
            "reasons": REASONS,
            "days": WITHIN.days,
            "progress": progress,
            "needed": ENOUGH_LABELS,
            "reviewer": reviewer_of(me),
            "named": me.principal.key_id is not None,
            "may_mark": _may_mark(me),
            "most_name": MAX_NAME,
            "ended": "ended" in me.request.query_params,
        },
    )


@router.get("/labels/next")
def next_label(me: Viewer) -> Response:
    """Claim a trace for this reviewer and lead to it."""
    app = _app_of(me)
    if not _may_mark(me) or not reviewer_of(me):
        return _to(me.link("/labels", app=app))
    trace_id = me.services.label_queue.claim(_query(me, app))
    if trace_id is None:
        return _to(me.link("/labels", app=app, ended=1))
    return _to(me.link(f"/labels/{trace_id}", app=app))


@router.get("/labels/{trace_id}")
def label(me: Viewer, trace_id: str) -> HTMLResponse:
    """One trace and the question; what others and judges said once this reviewer has answered."""
    stored = _stored(me, trace_id)
    mine = _mark_of(stored, reviewer_of(me))
    if mine is None and _may_mark(me) and reviewer_of(me):
        # Whoever chose it from the list may mark it, also if somebody else has it just now.
        me.services.label_queue.hold(_query(me, _app_of(me)), stored.trace.trace_id)
    return _label_page(me, stored, mine)


@router.post("/ui/labels")
def answer(sent: Form) -> Response:
    """Keep a reviewer's answer; then they see what others and judges said."""
    _need_marking(sent)
    me, chosen = sent.me, sent.get("answer")
    stored = _stored(me, sent.get("trace_id"))
    reviewer = reviewer_of(me)
    if not reviewer:
        raise ProblemError(422, msgid("Say who you are on the labelling page first."))
    if chosen not in ANSWERS:
        raise ProblemError(422, "The mark cannot be read; go back and choose again.")
    mark = Feedback(
        project=me.principal.project,
        trace_id=stored.trace.trace_id,
        value=ANSWERS[chosen][0],
        metric=QUESTION,
        comment=sent.get("comment")[:MOST_COMMENT] or None,
        author=reviewer,
        created_at=me.services.clock.now(),
    )
    keep_feedback(me.services, me.request, me.principal, mark)
    app = sent.get("app")[:200]
    return _to(me.link(f"/labels/{stored.trace.trace_id}", app=app))


@router.post("/ui/labels/reviewer")
def name_reviewer(sent: Form) -> Response:
    """Remember who marks in this browser, where nobody signs in."""
    _need_marking(sent)
    name = clean_name(sent.get("name"))
    response = _to(sent.me.link("/labels", app=sent.get("app")[:200]))
    if name:
        keep_reviewer(sent.me, response, name)
    return response


def _label_page(me: Visitor, stored: StoredTrace, mine: Feedback | None) -> HTMLResponse:
    trace = stored.trace
    values = {
        "trace": trace,
        "app": _app_of(me),
        "answers": ANSWERS,
        "mine": mine,
        "reviewer": reviewer_of(me),
        "may_mark": _may_mark(me),
        "needed": ENOUGH_LABELS,
        "progress": _progress(me, trace.app),
        "most_comment": MOST_COMMENT,
    }
    # Blind until answered: before that the template is not even given what others say.
    if mine is not None:
        values["effect"] = what_it_does(mine, lambda: stored)
        values["others"] = [one for one in _marks(stored) if one.author != mine.author]
        values["judges"] = _judges(stored)
    return page(me, "label.html", values)


def _judges(stored: StoredTrace) -> list[JudgeSays]:
    by_judge: dict[str, list[Score]] = {}
    for score in stored.scores:
        if score.metric in JUDGED_ON and score.status is ScoreStatus.SCORED and score.judge:
            by_judge.setdefault(str(score.judge), []).append(score)
    # A judge's probability decides by its own threshold, where it gave one.
    return [
        JudgeSays(
            judge=judge,
            scores=scores,
            supported=not is_bad(max(scores, key=lambda score: JUDGED_ON.index(score.metric))),
        )
        for judge, scores in sorted(by_judge.items())
    ]


def _marks(stored: StoredTrace) -> list[Feedback]:
    """The newest answer of each person to the question."""
    return [
        one
        for one in stored.feedback
        if one.metric == QUESTION and one.statement is None and one.kind is None
    ]


def _mark_of(stored: StoredTrace, reviewer: str) -> Feedback | None:
    mine = (one for one in _marks(stored) if reviewer and one.author == reviewer)
    return next(mine, None)


def _progress(me: Visitor, app: str) -> Progress | None:
    """Over the days that are asked about; None where nothing was judged."""
    now = me.services.clock.now()
    series = Series(project=me.principal.project, app=app, metric=QUESTION, judge=COMBINED)
    estimate = me.services.estimates.estimate(series, Window(now - WITHIN, now))
    return Progress(app=app, marked=estimate.correcting) if estimate.judged else None


def _query(me: Visitor, app: str) -> LabelQuery:
    return LabelQuery(
        project=me.principal.project,
        since=me.services.clock.now() - WITHIN,
        app=app or None,
        reviewer=reviewer_of(me) or None,
        marks_per_trace=me.services.settings.labels.marks_per_trace,
    )


def _stored(me: Visitor, trace_id: str) -> StoredTrace:
    stored = stored_trace(me, trace_id)
    if stored is None:
        raise ProblemError(404, NO_SUCH_TRACE, kind="not-found")
    return stored


def _app_of(me: Visitor) -> str:
    return me.request.query_params.get("app", "").strip()[:200]


def _may_mark(me: Visitor) -> bool:
    return me.allows("write") or me.allows("ingest")


def _need_marking(sent: Sent) -> None:
    if not _may_mark(sent.me):
        sent.need(KeyScope.WRITE)


def _to(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303)
