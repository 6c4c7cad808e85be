"""What questions are about: where most goes wrong, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.aggregation.topics import TopicEvent, TopicReport
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.topic import NO_TOPIC, TopicQuestion
from rag_monitor.domain.window import Window
from rag_monitor.i18n import msgid
from rag_monitor.server.topics import DEFAULT_WINDOW, TYPICAL, WITH_QUESTIONS, reports, whole_days
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.server.validation import Unknown
from rag_monitor.store.topics import QuestionQuery

router = APIRouter(include_in_schema=False)

EVENTS: Final = {
    TopicEvent.NEW: msgid("new"),
    TopicEvent.GROWN: msgid("grown"),
    TopicEvent.VANISHED: msgid("vanished"),
}
_LISTED: Final = 10
"""Topics in each list of what to do."""
_FAULTS: Final = 3
"""Faults that are shown of a topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """A topic with questions to read."""

    report: TopicReport
    questions: list[TopicQuestion]

    @property
    def named(self) -> bool:
        """Whether it is a topic; else the questions of none."""
        return self.report.id != NO_TOPIC


@router.get("/topics")
def show_topics(me: Viewer) -> HTMLResponse:
    """The topics of an app, those of most impact first, and what to do about them."""
    with me.services.reading():
        return _topics(me)


def _topics(me: Visitor) -> HTMLResponse:
    project, period = me.principal.project, me.period(DEFAULT_WINDOW)
    apps = [app.app for app in me.services.traces.apps(project)]
    wanted = me.request.query_params.get("app")
    app = wanted if wanted in apps else (apps[0] if apps else "")
    days = whole_days(period.window)
    all_reports = reports(me.services.topics, project, app, days) if app else []
    views = [
        TopicView(
            report=report,
            questions=_questions(me, app, days, report.id) if place < WITH_QUESTIONS else [],
        )
        for place, report in enumerate(all_reports)
    ]
    return page(
        me,
        "topics.html",
        {
            "apps": apps,
            "app": app,
            "hints": [Unknown.of("app", wanted, apps)] if wanted and app != wanted else [],
            "refused": {**me.not_applied("app", "window", "from", "to"), **period.refused},
            "period": period,
            "days": days,
            "last_day": (days.end - timedelta(days=1)).date(),
            "topics": views,
            "EVENTS": EVENTS,
            "shown_faults": _FAULTS,
            "to_add": _at_fault(me, app, days, all_reports, Fault.KNOWLEDGE_GAP),
            "to_fix": _at_fault(me, app, days, all_reports, Fault.MISSED_RETRIEVAL),
        },
    )


def _at_fault(
    me: Visitor, app: str, days: Window, all_reports: list[TopicReport], fault: Fault
) -> list[TopicView]:
    """Topics with this fault, those with most of it first, and questions that have it."""
    have = [report for report in all_reports if fault in report.faults]
    have.sort(key=lambda one: (-one.faults[fault].value * one.questions, one.id))
    return [
        TopicView(report=report, questions=_questions(me, app, days, report.id, fault))
        for report in have[:_LISTED]
    ]


def _questions(
    me: Visitor, app: str, days: Window, topic: int, fault: Fault | None = None
) -> list[TopicQuestion]:
    return me.services.topics.questions(
        QuestionQuery(
            project=me.principal.project,
            app=app,
            window=days,
            topic=topic,
            fault=fault,
            limit=TYPICAL,
            nearest_first=True,
        )
    )
