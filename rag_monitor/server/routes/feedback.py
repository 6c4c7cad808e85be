"""Users' ratings of answers, reviewers' marks, and the traces that wait for one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Marker, Reader, ServicesOf
from rag_monitor.server.marks import keep_feedback
from rag_monitor.server.problems import AskedLanguage
from rag_monitor.server.schemas.feedback import FeedbackIn, FeedbackOut
from rag_monitor.server.schemas.traces import TraceRow
from rag_monitor.server.schemas.values import (
    Given,
    Hints,
    Name,
    WindowText,
    Wire,
    finite,
    parse_length,
)
from rag_monitor.server.validation import OnceRoute, sentences, unknown_names
from rag_monitor.store.label_queue import LabelReason, LabelTask


class LabelTaskOut(Wire):
    """A trace to look at, and why."""

    reason: LabelReason = Field(
        description="`drawn`: by chance, so that its mark may correct the estimates; "
        "`judges_disagree`; `unsure`: the judge's probability is near one half."
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


router = APIRouter(prefix="/api/v1", tags=[msgid("Traces")], route_class=OnceRoute)


@router.post("/feedback", status_code=201)
def post_feedback(
    request: Request, services: ServicesOf, caller: Marker, annotation: FeedbackIn
) -> FeedbackOut:
    """Store a rating or a mark. It may overtake its trace, and counts once the trace is there.

    Without `metric`, `statement` and `fault` it is a user's rating of the whole answer, which
    `satisfaction_rate` counts; with one of them it is a reviewer's mark, which corrects estimates.
    A metric that there is not is refused, with the names of those there are.
    """
    feedback = annotation.feedback(caller.project, annotation.author, services.clock.now())
    keep_feedback(services, request, caller, feedback)
    return FeedbackOut.from_domain(feedback)


class LabelFilter(Given):
    """Which traces to ask people about."""

    app: Name | None = None
    window: WindowText = Field(default="7d", description="How far back; default 7d.")
    limit: int = Field(default=50, ge=1, le=200)


@router.get("/labels/waiting")
def waiting_labels(
    services: ServicesOf,
    caller: Reader,
    language: AskedLanguage,
    where: Annotated[LabelFilter, Query()],
) -> LabelTasks:
    """Traces nobody has marked, those first whose mark teaches most."""
    since = services.clock.now() - parse_length(where.window)
    tasks = services.label_queue.waiting(caller.project, since, where.limit, where.app)
    unknown = [] if tasks else unknown_names(services, caller.project, app=where.app)
    return LabelTasks(
        items=[LabelTaskOut.from_domain(task) for task in tasks], hints=sentences(unknown, language)
    )
