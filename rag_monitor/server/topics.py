"""Topics of an application over whole days, for the API and for the page."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from rag_monitor.aggregation.topics import TopicReport, topic_reports
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.topic import TopicQuestion
from rag_monitor.domain.window import Window
from rag_monitor.server.csv_text import csv_text
from rag_monitor.store.topics import MAX_QUESTIONS, QuestionQuery, Topics

DEFAULT_WINDOW: Final = "7d"
SHOWN: Final = 200
"""Topics of one answer."""
WITH_QUESTIONS: Final = 20
"""Topics, those of most impact, whose typical questions are read."""
TYPICAL: Final = 3
_COLUMNS: Final = ("topic", "question", "asked_at", "trace_id")
_DAY: Final = timedelta(days=1)


def whole_days(window: Window) -> Window:
    """The UTC days that a window touches: topics are counted by day."""
    last = (window.end - timedelta(microseconds=1)).astimezone(UTC).date()
    return Window(start=_midnight(window.start.astimezone(UTC).date()), end=_midnight(last + _DAY))


def reports(topics: Topics, project: str, app: str, days: Window) -> list[TopicReport]:
    """What is said of each topic over whole days."""
    first, until = days.start.date(), days.end.date()
    before = first - (until - first)
    return topic_reports(
        topics.of_app(project, app),
        topics.sums(project, app, first, until),
        topics.sums(project, app, before, first),
        first,
    )[:SHOWN]


def gap_questions(
    topics: Topics, project: str, app: str, days: Window, topic: int | None = None
) -> list[TopicQuestion]:
    """Questions that the knowledge base could not answer, the newest first, each wording once."""
    return topics.questions(
        QuestionQuery(
            project=project,
            app=app,
            window=days,
            topic=topic,
            fault=Fault.KNOWLEDGE_GAP,
            limit=MAX_QUESTIONS // 2,
        )
    )


def questions_csv(questions: Iterable[TopicQuestion], names: dict[str, str]) -> str:
    """Questions as CSV for a spreadsheet, none of which it takes for a formula.

    Args:
        questions: Untrusted text.
        names: The name of the topic of each trace, by its id.
    """
    rows = [
        {
            "topic": names.get(one.trace_id, ""),
            "question": one.question,
            "asked_at": one.started_at.isoformat(),
            "trace_id": one.trace_id,
        }
        for one in questions
    ]
    # Without the mark Excel reads UTF-8 as something else.
    return "\ufeff" + csv_text(_COLUMNS, rows)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
