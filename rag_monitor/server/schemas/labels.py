"""Reviewers' marks as they are exported and imported, and the traces that wait for one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import Field

from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.stored import LabelledTrace
from rag_monitor.i18n import Message
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.schemas.feedback import FeedbackIn
from rag_monitor.server.schemas.traces import TraceRow
from rag_monitor.server.schemas.values import Given, Hints, Moment, Wire, finite
from rag_monitor.store.label_queue import LabelReason, LabelTask

MOST_IMPORTED: Final = 1000
"""Marks in one request."""
_AHEAD: Final = timedelta(minutes=5)
"""How far another machine's clock may be ahead."""


class LabelTaskOut(Wire):
    """A trace to look at, and why."""

    reason: LabelReason = Field(
        description="`people_disagree`: as many people say yes as no; `drawn`: by chance, so that "
        "its mark may correct the estimates; `judges_disagree`; `unsure`: the judge's probability "
        "is near one half."
    )
    low: float | None = Field(description="Least `answer_supported` that a judge gave.")
    high: float | None = Field(description="Largest `answer_supported` that a judge gave.")
    trace: TraceRow

    @classmethod
    def from_domain(cls, task: LabelTask) -> LabelTaskOut:
        """The task as it goes out."""
        return cls(
            reason=task.reason,
            low=finite(task.low),
            high=finite(task.high),
            trace=TraceRow.from_domain(task.trace),
        )


class LabelTasks(Wire):
    """Traces that wait for a mark, the most telling first."""

    items: list[LabelTaskOut]
    hints: Hints


class LabelOut(Wire):
    """A reviewer's mark. What is sent out can be imported."""

    trace_id: str
    app: str | None = Field(description="Of the trace; null: it is gone, or not there yet.")
    metric: str | None = Field(description="null: the whole answer, or what was at fault in it.")
    statement: int | None
    value: float | None = Field(description="0 (bad) to 1 (good), 0.5: cannot tell; or a `fault`.")
    fault: str | None
    comment: str | None
    author: str | None = Field(description="The reviewer.")
    created_at: datetime
    corrected_answer: str | None
    correct_document_ids: list[str]

    @classmethod
    def from_domain(cls, labelled: LabelledTrace) -> LabelOut:
        """The mark as it goes out."""
        mark = labelled.mark
        return cls(
            trace_id=mark.trace_id,
            app=labelled.app,
            metric=mark.metric,
            statement=mark.statement,
            value=None if mark.fault is not None else mark.value,
            fault=None if mark.fault is None else mark.fault.value,
            comment=mark.comment,
            author=mark.author,
            created_at=mark.created_at,
            corrected_answer=mark.corrected_answer,
            correct_document_ids=list(mark.correct_document_ids),
        )


class LabelsOut(Wire):
    """Reviewers' marks, the oldest first."""

    labels: list[LabelOut]


class LabelIn(FeedbackIn):
    """A reviewer's mark, as an export has it."""

    app: Any = Field(default=None, description="Is passed over: the trace knows it.")
    created_at: Moment | None = Field(default=None, description="When it was made; default now.")

    def mark(self, project: str, now: datetime, place: int) -> Feedback:
        """The mark that it is.

        Args:
            project: Tenant.
            now: The time.
            place: 0-based, among those sent together.

        Raises:
            ProblemError: 422, it was made in the future.
        """
        if self.created_at is not None and self.created_at > now + _AHEAD:
            raise ProblemError(
                422,
                "`{field}`: {reason}",
                field=f"labels.{place}.created_at",
                reason=Message("lies in the future"),
            )
        return self.feedback(project, self.author, self.created_at or now, by_reviewer=True)


class LabelsIn(Given):
    """Marks to import."""

    labels: Annotated[list[LabelIn], Field(min_length=1, max_length=MOST_IMPORTED)]


class LabelsKept(Wire):
    """What became of marks that were imported."""

    imported: int
    unchanged: int = Field(description="Those that were stored already.")
