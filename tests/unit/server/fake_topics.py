"""Topics in memory."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from rag_monitor.domain.topic import Topic, TopicQuestion, TopicSums
from rag_monitor.store.topics import QuestionQuery


class FakeTopics:
    """The topics of every application are the same; there are none at first."""

    def __init__(self) -> None:
        self.topics: list[Topic] = []
        self.by_day: dict[tuple[date, int], TopicSums] = {}
        self.asked: dict[int, list[TopicQuestion]] = {}

    def of_app(self, project: str, app: str) -> list[Topic]:
        return self.topics

    def sums(self, project: str, app: str, first: date, until: date) -> dict[int, TopicSums]:
        sums: dict[int, TopicSums] = {}
        for (day, topic), own in self.by_day.items():
            if first <= day < until:
                sums.setdefault(topic, TopicSums()).merge(own)
        return sums

    def questions(self, query: QuestionQuery) -> list[TopicQuestion]:
        return [
            question
            for topic, questions in self.asked.items()
            if query.topic in {None, topic}
            for question in questions
            if query.fault is None or question.fault == query.fault.value
        ][: query.limit]

    def of_traces(self, project: str, trace_ids: Collection[str]) -> dict[str, int]:
        return {
            question.trace_id: topic
            for topic, questions in self.asked.items()
            for question in questions
            if question.trace_id in trace_ids
        }
