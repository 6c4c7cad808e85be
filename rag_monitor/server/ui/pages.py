"""The page of a trace, its answer with what it cites and what the judge said, and the settings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.charts.durations import phases_of, timeline
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.decision import SamplingDecision
from rag_monitor.domain.judgement import Aspect, JudgeUsage, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.session import Neighbours
from rag_monitor.domain.stored import KeyScope, StoredTrace
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import MalformedPayload, NotFound
from rag_monitor.evaluation.request import history_of
from rag_monitor.i18n import Message
from rag_monitor.metrics.fault_words import likely_faults
from rag_monitor.metrics.rag import citations_of
from rag_monitor.server.golden_items import golden_of_trace
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.quality import SCORE_METRICS
from rag_monitor.server.ui import key_form
from rag_monitor.server.ui.raw_spans import Evidence, evidence_of
from rag_monitor.server.ui.rule_panel import SentRule, panel
from rag_monitor.server.ui.take_along import curl_command
from rag_monitor.server.ui.usual import Usual
from rag_monitor.server.ui.view import Viewer, Visitor, page


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationView:
    """One citation of a statement."""

    label: str
    """As the answer writes it."""
    passages: tuple[int, ...]
    """From 1; empty: there is no such passage."""
    verdict: Verdict | None
    """Whether it counts; None: not judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedView:
    """A statement that cites."""

    text: str
    verdict: Verdict | None
    """Whether what it cites supports it; None: not judged."""
    citations: tuple[CitationView, ...]


def cited_views(trace: Trace, scores: Sequence[Score]) -> list[CitedView]:
    """The statements with citations, in order."""
    citations = citations_of(trace)
    if citations is None:
        return []
    verdicts = _verdicts(scores)
    return [
        CitedView(
            text=statement.text,
            verdict=verdicts.get((Aspect.CITED_SUPPORT, index)),
            citations=tuple(
                CitationView(
                    label=citations.labels[number],
                    passages=tuple(passage + 1 for passage in citations.passages[number]),
                    verdict=verdicts.get((Aspect.CITATION, number)),
                )
                for number in statement.citations
            ),
        )
        for index, statement in enumerate(citations.statements)
        if statement.citations
    ]


def _verdicts(scores: Sequence[Score]) -> Mapping[tuple[Aspect, int], Verdict]:
    """By aspect and index, of the judge whose scores come first."""
    by_place: dict[tuple[Aspect, int], Verdict] = {}
    for score in scores:
        for verdict in score.verdicts:
            if verdict.aspect in {Aspect.CITED_SUPPORT, Aspect.CITATION}:
                by_place.setdefault((verdict.aspect, verdict.index), verdict)
    return by_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of the answer."""

    text: str
    verdict: Verdict | None = None
    """None: nothing was said about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageView:
    """What the verdicts say about one passage; None: not asked."""

    relevant: Verdict | None = None
    useful: Verdict | None = None
    used: Verdict | None = None
    supports: tuple[int, ...] = ()
    """0-based statements that rest on it."""


def support_verdicts(scores: Sequence[Score]) -> tuple[Verdict, ...]:
    """The support verdicts to show: of the judge that is not embedded, where there is one."""
    with_support = [
        (score.judge.name if score.judge else "", supports)
        for score in scores
        if (supports := tuple(v for v in score.verdicts if v.aspect is Aspect.SUPPORT))
    ]
    with_support.sort(key=lambda pair: pair[0].startswith("embedded"))
    return with_support[0][1] if with_support else ()


def answer_pieces(answer: str, verdicts: Sequence[Verdict]) -> list[Piece]:
    """The whole answer in order; offsets that make no sense are passed over."""
    pieces: list[Piece] = []
    at = 0
    placed = [(v.start, v.end, v) for v in verdicts if v.start is not None and v.end is not None]
    for start, end, verdict in sorted(placed, key=lambda item: item[:2]):
        if start < at or not start < end <= len(answer):
            continue
        if start > at:
            pieces.append(Piece(text=answer[at:start]))
        pieces.append(Piece(text=answer[start:end], verdict=verdict))
        at = end
    if at < len(answer):
        pieces.append(Piece(text=answer[at:]))
    return pieces


def passage_views(scores: Sequence[Score], count: int) -> list[PassageView]:
    """Per passage, the verdicts on its relevance, usefulness and use."""
    support = support_verdicts(scores)
    by_aspect: dict[tuple[Aspect, int], Verdict] = {}
    for score in sorted(
        scores, key=lambda s: bool(s.judge and s.judge.name.startswith("embedded"))
    ):
        for verdict in score.verdicts:
            by_aspect.setdefault((verdict.aspect, verdict.index), verdict)
    return [
        PassageView(
            relevant=by_aspect.get((Aspect.RELEVANCE, n)),
            useful=by_aspect.get((Aspect.USEFULNESS, n)),
            used=by_aspect.get((Aspect.USE, n)),
            supports=tuple(v.index for v in support if v.holds and v.evidence == n),
        )
        for n in range(count)
    ]


router = APIRouter(include_in_schema=False)

NO_SUCH_TRACE: Final = Message(
    "There is no such trace: it never arrived, was erased, or is older than traces are kept."
)
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")


@router.get("/traces/{trace_id}")
def trace(me: Viewer, trace_id: str) -> HTMLResponse:
    """One trace: what was asked, found and answered, and what the judge said of it."""
    stored = stored_trace(me, trace_id)
    if stored is None:
        raise ProblemError(404, NO_SUCH_TRACE, kind="not-found")
    it = stored.trace
    contexts = it.contexts or ()
    support = support_verdicts(stored.scores)
    cited = cited_views(it, stored.scores)
    return page(
        me,
        "trace.html",
        {
            "stored": stored,
            "trace": it,
            "usual": Usual.on_page(
                me, [it.app], list(dict.fromkeys(score.metric for score in stored.scores))
            ),
            "neighbours": _neighbours(me, it),
            "pieces": answer_pieces(it.answer or "", support),
            "judged": bool(support),
            "judges": _by_judge(stored.scores),
            "about": "faithfulness" if contexts else "",
            "passages": list(
                zip(contexts, passage_views(stored.scores, len(contexts)), strict=True)
            ),
            "cited": cited,
            "cited_passages": {
                number
                for statement in cited
                for one in statement.citations
                for number in one.passages
            },
            "timeline": timeline(
                phases_of(it, me.translate),
                it.timings.first_byte_ms,
                me.translate("First byte"),
                me.translate("Where the time went"),
            ),
            "thanks": me.request.query_params.get("thanks", ""),
            "marked_fault": me.request.query_params.get("of") == "fault",
            "likely_faults": likely_faults(stored.faults),
            "used": _used(stored.decisions),
            "given_turns": _given_turns(me, stored),
            "curl": curl_command(me.address, it.trace_id),
            "golden": _golden_line(me, stored),
            "evidence": _evidence(me, it) if me.request.query_params.get("spans") else None,
        },
    )


def stored_trace(me: Visitor, trace_id: str) -> StoredTrace | None:
    """A trace of the visitor's project; None where there is none of that id."""
    if not _TRACE_ID.fullmatch(trace_id):
        return None
    try:
        return me.services.traces.get(me.principal.project, trace_id.lower())
    except NotFound:
        return None


def _evidence(me: Visitor, trace: Trace) -> Evidence | str:
    """What the trace was read from; where that cannot be shown, why."""
    blobs = me.services.spans.blobs(trace.project, trace.trace_id)
    if not blobs:
        return me.translate("What was sent is not stored any more.")
    try:
        return evidence_of(blobs)
    except MalformedPayload:
        return me.translate("What is stored of it cannot be read.")


def _neighbours(me: Visitor, trace: Trace) -> Neighbours:
    """The turns before and after, where the trace is one of a session."""
    if not trace.session_id:
        return Neighbours()
    return me.services.sessions.neighbours(
        trace.project, trace.session_id, trace.started_at, trace.trace_id
    )


def _golden_line(me: Visitor, stored: StoredTrace) -> str | None:
    """The question as a line of a golden set; None: it is not known."""
    item = golden_of_trace(me.services, stored)
    return None if item is None else json.dumps(item, ensure_ascii=False)


def _given_turns(me: Visitor, stored: StoredTrace) -> Sequence[EarlierTurn]:
    """The earlier turns that judges were given with the trace: of its session, else its own."""
    given = {trace_id for decision in stored.decisions for trace_id in decision.history}
    if given:
        return me.services.earlier_turns.named(stored.trace.project, sorted(given))
    return history_of(stored.trace) if stored.scores else ()


def _used(decisions: Sequence[SamplingDecision]) -> dict[str, JudgeUsage]:
    """What judging the trace used, by the judge's configured name."""
    return {one.judge: one.usage for one in decisions if one.usage is not None}


def _by_judge(scores: Sequence[Score]) -> dict[str, list[Score]]:
    """The scores under the judge that gave them, so that its long name stands once."""
    by_judge: dict[str, list[Score]] = {}
    for score in sorted(scores, key=_place):
        by_judge.setdefault(str(score.judge or ""), []).append(score)
    return by_judge


def _place(score: Score) -> tuple[bool, int]:
    """Numbers before reasons; otherwise the order of every page."""
    is_ours = score.metric in SCORE_METRICS
    place = SCORE_METRICS.index(score.metric) if is_ours else len(SCORE_METRICS)
    return score.status is ScoreStatus.NOT_APPLICABLE, place


@router.get("/settings")
def settings(me: Viewer) -> HTMLResponse:
    """Rules and keys."""
    response = settings_page(me, secret=key_form.carried(me))
    key_form.forget(me, response)
    return response


def settings_page(
    me: Visitor,
    *,
    problem: str | None = None,
    secret: str | None = None,
    form: SentRule | None = None,
    key_form: Mapping[str, str] | None = None,
    status: int = 200,
) -> HTMLResponse:
    """The settings, with a new key that is shown this once, or a form that was refused.

    Args:
        me: Who looks.
        problem: What was wrong with the form of a key.
        secret: The new key.
        form: The form of a rule that was refused, or is previewed.
        key_form: The refused form of a key.
        status: Of the answer.
    """
    settings = me.services.settings
    rules = me.services.rules.all(me.principal.project)
    apps = me.services.traces.apps(me.principal.project)
    saved = me.request.query_params.get("saved")
    keys = (
        me.services.keys.list(me.principal.project) if me.principal.allows(KeyScope.ADMIN) else []
    )
    return page(
        me,
        "settings.html",
        {
            "rules": rules,
            "report": me.rule_report([app.app for app in apps if app.kept]),
            "saved": next((rule for rule in rules if rule.name == saved), None),
            "looks_every_s": settings.worker.rules_every_s,
            **panel(me, form, rules),
            "given_key": key_form or {"name": "", "scopes": KeyScope.INGEST.value, "last_day": ""},
            "apps": [app.app for app in apps],
            "scopes": list(KeyScope),
            "now": me.services.clock.now(),
            "keys": sorted(keys, key=lambda key: key.created_at, reverse=True),
            "problem": problem,
            "secret": secret,
            "open": settings.api_key is None,
            "sampling": settings.sampling,
            "retention": settings.retention,
            "configured_judge": settings.judge,
            "judges": me.services.judges(),
        },
        status,
    )
