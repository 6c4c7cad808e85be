"""Users' ratings of answers, and reviewers' marks."""

from __future__ import annotations

from fastapi import APIRouter, Request

from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Marker, ServicesOf
from rag_monitor.server.marks import keep_feedback
from rag_monitor.server.schemas.feedback import FeedbackIn, FeedbackOut
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
