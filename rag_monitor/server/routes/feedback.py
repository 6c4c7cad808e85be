"""People's marks on traces."""

from __future__ import annotations

from fastapi import APIRouter

from rag_monitor.domain.feedback import Feedback
from rag_monitor.server.auth import Marker, ServicesOf
from rag_monitor.server.schemas.traces import FeedbackIn, FeedbackOut

router = APIRouter(prefix="/api/v1", tags=["Traces"])


@router.post("/feedback", status_code=201)
def post_feedback(services: ServicesOf, caller: Marker, mark: FeedbackIn) -> FeedbackOut:
    """Store a mark. It may overtake its trace, and counts as soon as the trace is there."""
    feedback = Feedback(
        project=caller.project,
        trace_id=mark.trace_id,
        value=mark.value,
        metric=mark.metric,
        statement=mark.statement,
        comment=mark.comment or None,
        author=mark.author or None,
        created_at=services.clock.now(),
    )
    services.feedback.add(feedback)
    return FeedbackOut.from_domain(feedback)
