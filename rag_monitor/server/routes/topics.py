"""What questions are about, and what the knowledge base lacks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from rag_monitor.domain.window import Window
from rag_monitor.i18n import msgid
from rag_monitor.server.auth import Reader, ServicesOf
from rag_monitor.server.schemas.topics import TopicOut, TopicsOut
from rag_monitor.server.schemas.values import Given, Moment, Name, WindowText, window_of
from rag_monitor.server.services import Services
from rag_monitor.server.topics import (
    DEFAULT_WINDOW,
    TYPICAL,
    WITH_QUESTIONS,
    gap_questions,
    questions_csv,
    reports,
    whole_days,
)
from rag_monitor.server.validation import OnceRoute
from rag_monitor.store.topics import QuestionQuery

router = APIRouter(prefix="/api/v1", tags=[msgid("Topics")], route_class=OnceRoute)


class TopicQuery(Given):
    """Of which app, over which days."""

    app: Name
    window: WindowText | None = Field(
        default=None, description="Default 7d. Topics are counted by UTC day: by all it touches."
    )
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None

    def days(self, services: Services) -> Window:
        """The whole days that it touches."""
        now = services.clock.now()
        return whole_days(window_of(now, self.window, self.from_, self.to, DEFAULT_WINDOW))


class GapQuery(TopicQuery):
    """Which questions that nobody could answer."""

    topic: int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="Only of this topic; 0: of none."
    )


@router.get("/topics")
def topics(
    services: ServicesOf, caller: Reader, where: Annotated[TopicQuery, Query()]
) -> TopicsOut:
    """Topics of an app by impact: traffic times the share at fault.

    The first 20 come with typical questions.
    """
    days = where.days(services)
    answers = []
    with services.reading():
        for place, report in enumerate(reports(services.topics, caller.project, where.app, days)):
            query = QuestionQuery(
                project=caller.project,
                app=where.app,
                window=days,
                topic=report.id,
                limit=TYPICAL,
                nearest_first=True,
            )
            typical = services.topics.questions(query) if place < WITH_QUESTIONS else []
            answers.append(TopicOut.from_domain(report, typical))
    return TopicsOut(app=where.app, start=days.start, end=days.end, topics=answers)


@router.get("/topics/gaps.csv", response_class=Response)
def gaps(services: ServicesOf, caller: Reader, where: Annotated[GapQuery, Query()]) -> Response:
    """Questions that the knowledge base could not answer, as CSV: at most 500, the newest first."""
    days = where.days(services)
    with services.reading():
        questions = gap_questions(services.topics, caller.project, where.app, days, where.topic)
        topic_of = services.topics.of_traces(
            caller.project, [question.trace_id for question in questions]
        )
        names = {
            topic.id: topic.name for topic in services.topics.of_app(caller.project, where.app)
        }
    return Response(
        questions_csv(questions, {trace: names.get(id_, "") for trace, id_ in topic_of.items()}),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="gaps.csv"'},
    )
