"""Users' ratings of answers, and reviewers' marks."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import Field

from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Marker, Reader, ServicesOf
from rag_monitor.server.marks import keep_feedback
from rag_monitor.server.rating_agreement import rating_agreement
from rag_monitor.server.schemas.feedback import (
    FeedbackIn,
    FeedbackOut,
    RatingAgreementOut,
    RatingAgreements,
)
from rag_monitor.server.schemas.values import Given, Moment, Name, WindowText, window_of
from rag_monitor.server.validation import OnceRoute

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


_DEFAULT_WINDOW: Final = "7d"


class RatedQuery(Given):
    """Ratings of which app, given when."""

    app: Name | None = None
    window: WindowText | None = Field(default=None, description="Default 7d.")
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None


@router.get("/ratings/agreement")
def compare_with_ratings(
    services: ServicesOf, caller: Reader, where: Annotated[RatedQuery, Query()]
) -> RatingAgreements:
    """Whether low scores tell which answers users rate down: AUROC by app, metric and judge.

    Of the newest 2,000 ratings of the window.
    """
    now = services.clock.now()
    window = window_of(now, where.window, where.from_, where.to, _DEFAULT_WINDOW)
    rows = services.feedback.rated_scores(caller.project, window.start, window.end, app=where.app)
    return RatingAgreements(
        start=window.start,
        end=window.end,
        items=[RatingAgreementOut.from_domain(one) for one in rating_agreement(rows)],
    )
