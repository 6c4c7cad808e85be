"""What questions are about, as the API tells it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rag_monitor.aggregation.topics import Share, ShareChange, TopicReport
from rag_monitor.domain.topic import TopicQuestion
from rag_monitor.server.schemas.values import Wire


class ShareOut(Wire):
    """A mean between 0 and 1 with its 95 % interval."""

    value: float
    lower: float
    upper: float
    count: int = Field(description="Questions that it rests on.")

    @classmethod
    def from_domain(cls, share: Share | None) -> ShareOut | None:
        """As it goes out; None stays None."""
        if share is None:
            return None
        return cls(value=share.value, lower=share.lower, upper=share.upper, count=share.count)


class ShareChangeOut(Wire):
    """A share minus that of the window before, with its 95 % interval."""

    value: float
    lower: float
    upper: float

    @classmethod
    def from_domain(cls, change: ShareChange | None) -> ShareChangeOut | None:
        """As it goes out; None stays None."""
        if change is None:
            return None
        return cls(value=change.value, lower=change.lower, upper=change.upper)


class TopicQuestionOut(Wire):
    """A question with the trace that asks it."""

    trace_id: str
    question: str
    started_at: datetime
    fault: str | None = Field(description="What was at fault; null: not diagnosed.")

    @classmethod
    def from_domain(cls, question: TopicQuestion) -> TopicQuestionOut:
        """As it goes out."""
        return cls(
            trace_id=question.trace_id,
            question=question.question,
            started_at=question.started_at,
            fault=question.fault,
        )


class TopicOut(Wire):
    """One topic over a window; null where there is nothing to tell it from."""

    id: int = Field(description="The same for as long as the topic exists; 0: of no topic.")
    name: str = Field(description="Words of its questions.", examples=["refund · card"])
    event: str | None = Field(
        description="`new`, `grown` or `vanished` beside the window before; null: none of them."
    )
    first_seen: datetime | None
    last_seen: datetime | None
    questions: int
    traffic: ShareOut | None = Field(description="Share of the questions of the app.")
    change: ShareChangeOut | None
    impact: float = Field(description="Share of all questions that are of it and at fault.")
    at_fault: ShareOut | None
    faults: dict[str, ShareOut]
    refusals: ShareOut | None
    faithfulness: ShareOut | None
    satisfaction: ShareOut | None = Field(description="From feedback on whole answers.")
    p50_ms: float | None
    p90_ms: float | None
    typical: list[TopicQuestionOut] = Field(description="The questions most like all others.")

    @classmethod
    def from_domain(cls, report: TopicReport, typical: list[TopicQuestion]) -> TopicOut:
        """As it goes out."""
        faults = {fault.value: ShareOut.from_domain(s) for fault, s in report.faults.items()}
        return cls(
            id=report.id,
            name=report.name,
            event=None if report.event is None else report.event.value,
            first_seen=report.first_seen,
            last_seen=report.last_seen,
            questions=report.questions,
            traffic=ShareOut.from_domain(report.traffic),
            change=ShareChangeOut.from_domain(report.change),
            impact=report.impact,
            at_fault=ShareOut.from_domain(report.at_fault),
            faults={fault: share for fault, share in faults.items() if share is not None},
            refusals=ShareOut.from_domain(report.refusals),
            faithfulness=ShareOut.from_domain(report.faithfulness),
            satisfaction=ShareOut.from_domain(report.satisfaction),
            p50_ms=report.p50_ms,
            p90_ms=report.p90_ms,
            typical=[TopicQuestionOut.from_domain(question) for question in typical],
        )


class TopicsOut(Wire):
    """The topics of an app, those of most impact first."""

    app: str
    start: datetime = Field(description="Beginning of the first UTC day.")
    end: datetime
    topics: list[TopicOut]
