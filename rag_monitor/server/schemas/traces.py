"""Traces, their scores and people's marks on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from rag_monitor.domain.decision import SamplingDecision
from rag_monitor.domain.hit import Hit
from rag_monitor.domain.judgement import JudgeUsage, Verdict
from rag_monitor.domain.score import Score
from rag_monitor.domain.stored import ErasureReport, StoredTrace, TracePage, TraceSummary
from rag_monitor.domain.trace import Expected, Retrieval, RetrievedDocument, Timings
from rag_monitor.i18n import translate
from rag_monitor.sampling.sampler import explain
from rag_monitor.server.schemas.faults import FaultOut
from rag_monitor.server.schemas.feedback import FeedbackOut
from rag_monitor.server.schemas.reported import ReportedScoreOut
from rag_monitor.server.schemas.values import (
    Hints,
    IndexedSince,
    Partial,
    Wire,
    finite,
    plain,
)


class TraceAccepted(Wire):
    """What became of posted traces."""

    accepted: int = Field(description="Traces that are now stored.", examples=[1])
    trace_ids: list[str]
    unknown_fields: list[str] = Field(
        description="Fields that were ignored; those inside others as `contexts[].text`."
    )
    errors: list[Any] = Field(description="Objects that were not taken, with the reason.")


class TraceRow(Wire):
    """One row of the trace list."""

    trace_id: str
    app: str
    release: str | None
    started_at: datetime
    status: str
    question: str | None
    answer: str | None
    first_byte_ms: float | None
    end_to_end_ms: float | None
    user_id: str | None
    session_id: str | None
    revision: int
    scores: dict[str, float | None] = Field(examples=[{"faithfulness": 0.83}])

    @classmethod
    def from_domain(cls, row: TraceSummary) -> TraceRow:
        """The row as it goes out."""
        return cls(
            trace_id=row.trace_id,
            app=row.app,
            release=row.release,
            started_at=row.started_at,
            status=row.status.value,
            question=row.question,
            answer=row.answer,
            first_byte_ms=finite(row.first_byte_ms),
            end_to_end_ms=finite(row.end_to_end_ms),
            user_id=row.user_id,
            session_id=row.session_id,
            revision=row.revision,
            scores={metric: finite(value) for metric, value in row.scores.items()},
        )


class TraceList(Wire):
    """A page of traces, in the order asked for."""

    items: list[TraceRow]
    next_cursor: str | None = Field(description="Send it as `cursor` for the next page.")
    looked_back_to: datetime | None = Field(
        default=None,
        description="Set where traces were looked through no further back than this before "
        "the page was full, be it empty: older traces are on the next page.",
    )
    partial: Partial
    indexed_since: IndexedSince
    hints: Hints

    @classmethod
    def from_domain(cls, page: TracePage, hints: Sequence[str] = ()) -> TraceList:
        """The page as it goes out."""
        return cls(
            items=[TraceRow.from_domain(row) for row in page.items],
            next_cursor=page.next_cursor,
            looked_back_to=page.looked_back_to,
            partial=page.partial,
            indexed_since=page.indexed_since,
            hints=list(hints),
        )


class DocumentOut(Wire):
    """A passage."""

    id: str | None
    content: str | None = Field(description="null where the sender withheld it.")
    score: float | None
    rank: int
    knowledge_base: str | None
    metadata: dict[str, Any]

    @classmethod
    def from_domain(cls, document: RetrievedDocument) -> DocumentOut:
        """The passage as it goes out."""
        return cls(
            id=document.id,
            content=document.content,
            score=finite(document.score),
            rank=document.rank,
            knowledge_base=document.knowledge_base,
            metadata=plain(document.metadata),
        )


class RetrievalOut(Wire):
    """One call of a retriever."""

    query: str | None
    knowledge_base: str | None
    documents: list[DocumentOut]
    latency_ms: float | None
    reranked: bool
    error: str | None

    @classmethod
    def from_domain(cls, retrieval: Retrieval) -> RetrievalOut:
        """The retrieval as it goes out."""
        return cls(
            query=retrieval.query,
            knowledge_base=retrieval.knowledge_base,
            documents=[DocumentOut.from_domain(d) for d in retrieval.documents],
            latency_ms=finite(retrieval.latency_ms),
            reranked=retrieval.reranked,
            error=retrieval.error,
        )


class TimingsOut(Wire):
    """Milliseconds; null where they are not known."""

    first_byte_ms: float | None
    generation_ms: float | None
    end_to_end_ms: float | None
    retrieval_ms: float | None
    first_token_ms: float | None

    @classmethod
    def from_domain(cls, timings: Timings) -> TimingsOut:
        """The timings as they go out."""
        return cls(
            first_byte_ms=finite(timings.first_byte_ms),
            generation_ms=finite(timings.generation_ms),
            end_to_end_ms=finite(timings.end_to_end_ms),
            retrieval_ms=finite(timings.retrieval_ms),
            first_token_ms=finite(timings.first_token_ms),
        )


class HitOut(Wire):
    """A plugin, knowledge base or workflow that was called."""

    kind: str
    name: str
    ok: bool
    items: int | None
    latency_ms: float | None

    @classmethod
    def from_domain(cls, hit: Hit) -> HitOut:
        """The hit as it goes out."""
        return cls(
            kind=hit.kind.value,
            name=hit.name,
            ok=hit.ok,
            items=hit.items,
            latency_ms=finite(hit.latency_ms),
        )


class ExpectedOut(Wire):
    """What should have been hit; null: not labelled."""

    plugin: list[str] | None
    knowledge_base: list[str] | None
    workflow: list[str] | None

    @classmethod
    def from_domain(cls, expected: Expected) -> ExpectedOut:
        """The labels as they go out."""
        return cls(
            plugin=_listed(expected.plugin),
            knowledge_base=_listed(expected.knowledge_base),
            workflow=_listed(expected.workflow),
        )


class VerdictOut(Wire):
    """A judge's answer to one question."""

    aspect: str
    text: str
    start: int | None
    end: int | None
    index: int
    probability: float | None
    evidence: int | None = Field(description="0-based index of the passage it rests on.")
    reason: str | None

    @classmethod
    def from_domain(cls, verdict: Verdict) -> VerdictOut:
        """The verdict as it goes out."""
        return cls(
            aspect=verdict.aspect.value,
            text=verdict.text,
            start=verdict.start,
            end=verdict.end,
            index=verdict.index,
            probability=finite(verdict.probability),
            evidence=verdict.evidence,
            reason=verdict.reason,
        )


class ScoreOut(Wire):
    """One metric's number for a trace, or the reason why there is none."""

    metric: str
    value: float | None
    status: str = Field(examples=["scored", "not_applicable", "failed", "suspect"])
    reason: str | None
    detail: str | None = Field(
        description="Of a failed score, what the judge's server or the reader of its reply said."
    )
    flagged: bool | None
    judge: str | None
    created_at: datetime | None
    inferred: bool
    verdicts: list[VerdictOut]

    @classmethod
    def from_domain(cls, score: Score) -> ScoreOut:
        """The score as it goes out."""
        return cls(
            metric=score.metric,
            value=finite(score.value),
            status=score.status.value,
            reason=score.reason,
            detail=score.detail,
            flagged=score.flagged,
            judge=str(score.judge) if score.judge else None,
            created_at=score.created_at,
            inferred=score.inferred,
            verdicts=[VerdictOut.from_domain(v) for v in score.verdicts],
        )


class UsageOut(Wire):
    """What judging a trace used."""

    calls: int
    input_tokens: int
    output_tokens: int
    gpu_seconds: float
    cost: float = Field(description="In the currency of the judge's price; 0 without one.")
    cached: bool = Field(description="The judge's replies were known already.")

    @classmethod
    def from_domain(cls, usage: JudgeUsage) -> UsageOut:
        """The usage as it goes out."""
        return cls(
            calls=usage.calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            gpu_seconds=finite(usage.gpu_seconds) or 0.0,
            cost=finite(usage.cost) or 0.0,
            cached=usage.cached,
        )


class DecisionOut(Wire):
    """Why a trace was, or was not, given to a judge, and what judging it used."""

    judge: str
    included: bool
    probability: float
    reason: str
    stratum: str
    salt: str
    why: str = Field(examples=["Not judged by packed: its number 0.73 is not below 0.05 (…)."])
    why_zh: str
    history: list[str] = Field(
        description="Traces of the earlier turns that the judge was given, in order."
    )
    usage: UsageOut | None = Field(
        description="null: the judge is free, has not judged it, or it was not noted."
    )

    @classmethod
    def from_domain(cls, decision: SamplingDecision, trace_id: str) -> DecisionOut:
        """The decision as it goes out."""
        explanation = explain(decision, trace_id)
        return cls(
            why=explanation,
            why_zh=translate(explanation, "zh"),
            judge=decision.judge,
            included=decision.included,
            probability=decision.probability,
            reason=decision.reason.value,
            stratum=decision.stratum,
            salt=decision.salt,
            history=list(decision.history),
            usage=None if decision.usage is None else UsageOut.from_domain(decision.usage),
        )


class TurnOut(Wire):
    """An earlier turn of the conversation."""

    question: str
    answer: str | None


class Decisions(Wire):
    """All draws for one trace."""

    trace_id: str
    decisions: list[DecisionOut]


class TraceDetail(Wire):
    """A trace with everything that is known about it: Trace JSON, its labels included."""

    trace_id: str
    project: str
    app: str
    environment: str | None
    release: str | None
    session_id: str | None
    user_id: str | None
    tags: list[str]
    started_at: datetime
    received_at: datetime
    question: str | None
    answer: str | None
    query: str | None
    status: str
    error: str | None
    streamed: bool | None
    truncated: bool
    revision: int
    convention: str
    model: str | None
    usage: dict[str, int | None]
    contexts: list[DocumentOut] | None = Field(
        description="What reached the model. [] recalled nothing, null is unknown."
    )
    history: list[TurnOut] = Field(
        description="Earlier turns that the trace itself tells of, in order."
    )
    context_block: str | None = Field(description="The undivided text, where only that came.")
    retrievals: list[RetrievalOut]
    timings: TimingsOut
    hits: list[HitOut]
    expected: ExpectedOut | None
    reference: list[str] | None
    key_points: list[str] | None
    relevant_ids: dict[str, float] | None = Field(description="Document id to grade.")
    context_labels: list[int] | None
    label_faithful: int | None
    label: str | None
    predicted: str | None
    attributes: dict[str, Any]
    scores: list[ScoreOut]
    faults: list[FaultOut] = Field(description="Of each judge, the newest first.")
    reported_scores: list[ReportedScoreOut] = Field(description="What other tools reported.")
    feedback: list[FeedbackOut]
    decisions: list[DecisionOut]

    @classmethod
    def from_domain(cls, stored: StoredTrace) -> TraceDetail:
        """The trace as it goes out."""
        trace = stored.trace
        contexts = trace.contexts
        labels = trace.expected or Expected()
        relevant = labels.relevant_ids
        return cls(
            trace_id=trace.trace_id,
            project=trace.project,
            app=trace.app,
            environment=trace.environment,
            release=trace.release,
            session_id=trace.session_id,
            user_id=trace.user_id,
            tags=list(trace.tags),
            started_at=trace.started_at,
            received_at=stored.received_at,
            question=trace.question,
            answer=trace.answer,
            query=trace.query,
            status=trace.status.value,
            error=trace.error,
            streamed=trace.streamed,
            truncated=trace.truncated,
            revision=trace.revision,
            convention=trace.convention,
            model=trace.model,
            usage={
                "input_tokens": trace.usage.input_tokens,
                "output_tokens": trace.usage.output_tokens,
            },
            contexts=None if contexts is None else [DocumentOut.from_domain(d) for d in contexts],
            history=[
                TurnOut(question=turn.question, answer=turn.answer or None)
                for turn in trace.history
            ],
            context_block=trace.context_block,
            retrievals=[RetrievalOut.from_domain(r) for r in trace.retrievals],
            timings=TimingsOut.from_domain(trace.timings),
            hits=[HitOut.from_domain(h) for h in trace.hits],
            expected=ExpectedOut.from_domain(trace.expected) if trace.expected else None,
            reference=_listed(labels.references),
            key_points=_listed(labels.key_points),
            relevant_ids=None if relevant is None else dict(relevant),
            context_labels=None if labels.context_labels is None else list(labels.context_labels),
            label_faithful=None if labels.faithful is None else int(labels.faithful),
            label=labels.label,
            predicted=labels.predicted,
            attributes=plain(trace.attributes),
            scores=[ScoreOut.from_domain(s) for s in stored.scores],
            faults=[FaultOut.from_domain(f) for f in stored.faults],
            reported_scores=[ReportedScoreOut.from_domain(s) for s in stored.reported],
            feedback=[FeedbackOut.from_domain(f) for f in stored.feedback],
            decisions=[DecisionOut.from_domain(d, stored.trace.trace_id) for d in stored.decisions],
        )


class Erased(Wire):
    """What erasing a user removed."""

    user_id: str
    traces: int
    passages: int
    feedback: int
    reported_scores: int
    replies: int
    outbox: int

    @classmethod
    def from_domain(cls, user_id: str, report: ErasureReport) -> Erased:
        """The report as it goes out."""
        return cls(
            user_id=user_id,
            traces=report.traces,
            passages=report.passages,
            feedback=report.feedback,
            reported_scores=report.reported_scores,
            replies=report.replies,
            outbox=report.outbox,
        )


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)
