"""Which scores of other tools are ratings by users."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.rating import RatingKind
from rag_monitor.ingest.evaluations import EvaluationRecord
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.ingest.replies import JSON
from rag_monitor.ingest.user_feedback import rating_in
from rag_monitor.testing import ManualClock
from tests.unit.ingest.evidence import RECEIVED, Sink, request
from tests.unit.ingest.test_receiver_annotations import (
    LINK,
    TARGET_TRACE,
    annotated,
    evaluator,
)
from tests.unit.ingest.test_receiver_logs import Kept

AT = datetime(2026, 1, 1, tzinfo=UTC)


def record(name: str, **fields: Any) -> EvaluationRecord:
    given = {"source": "langfuse / API", "at": AT} | fields
    return EvaluationRecord(name=name, trace_id="a" * 32, **given)


@pytest.mark.parametrize(
    ("name", "fields", "kind", "value"),
    [
        ("user-feedback", {"value": 1.0}, RatingKind.NUMBER, 1.0),
        ("User feedback", {"value": 0.0}, RatingKind.NUMBER, 0.0),
        ("user_feedback", {"label": "thumbs-down"}, RatingKind.THUMB, 0.0),
        ("user_feedback", {"label": "True", "value": 1.0}, RatingKind.THUMB, 1.0),
        ("user_score", {"label": "👎"}, RatingKind.THUMB, 0.0),
        ("user_rating", {"label": "4/5", "value": 4.0}, RatingKind.SCALE, 0.75),
        ("stars", {"label": "2 of 5 stars"}, RatingKind.SCALE, 0.25),
        ("thumbs", {"label": "up", "source": "px / HUMAN / u-1"}, RatingKind.THUMB, 1.0),
    ],
)
def test_what_users_say_is_a_rating(
    name: str, fields: dict[str, Any], kind: RatingKind, value: float
) -> None:
    rating = rating_in(record(name, **fields))

    assert rating is not None
    assert (rating.kind, rating.value) == (kind, value)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("helpfulness", {"value": 1.0}),
        ("user_feedback", {"value": 1.0, "source": "px / LLM"}),
        ("user_feedback", {"value": 1.0, "source": "langfuse / ANNOTATION"}),
        ("user_feedback", {"value": 4.0}),
        ("user_feedback", {"value": -1.0}),
        ("user_feedback", {"label": "meh"}),
        ("user_feedback", {"label": "9/5"}),
        ("user_feedback", {"explanation": "wrong rate"}),
        ("user_feedback", {"value": 1.0, "error": "timeout"}),
        ("user_feedback", {"value": 1.0, "at": None}),
        ("star_rating", {"value": 1.0}),
        ("user_rating", {"value": 1.0}),
    ],
)
def test_everything_else_stays_what_the_tool_says(name: str, fields: dict[str, Any]) -> None:
    assert rating_in(record(name, **fields)) is None


class Ratings:
    """A sink that keeps what is new."""

    def __init__(self) -> None:
        self.kept: list[Feedback] = []

    def add_new(self, marks: list[Feedback]) -> list[Feedback]:
        new = [mark for mark in marks if mark not in self.kept]
        self.kept += new
        return new


async def test_annotations_part_into_ratings_and_scores() -> None:
    kept, ratings = Kept(), Ratings()
    receiver = Receiver(Sink(), clock=ManualClock(RECEIVED), reported=kept, ratings=ratings)
    said = annotated(name="tone", score=0.5)
    user = {
        "annotations.1.annotation.name": "user_feedback",
        "annotations.1.annotation.label": "thumbs-down",
        "annotations.1.annotation.annotator_kind": "HUMAN",
        "annotations.1.annotation.explanation": "wrong rate",
    }

    for _ in range(2):  # sent again it changes nothing
        reply = await receiver.receive_traces(
            request(evaluator(said | user, LINK)), JSON, None, "p"
        )
        assert (reply.status, json.loads(reply.body)) == (200, {})

    (rating,) = ratings.kept
    assert (rating.project, rating.trace_id, rating.value) == ("p", TARGET_TRACE, 0.0)
    assert (rating.kind, rating.comment) == (RatingKind.THUMB, "wrong rate")
    assert rating.author == "tests / HUMAN"
    assert {score.name for score in kept.scores} == {"tone"}


async def test_without_a_place_for_ratings_they_are_scores() -> None:
    kept = Kept()
    receiver = Receiver(Sink(), clock=ManualClock(RECEIVED), reported=kept)
    said = annotated(name="user_feedback", score=1, annotator_kind="HUMAN")

    await receiver.receive_traces(request(evaluator(said, LINK)), JSON, None, "p")

    assert [score.name for score in kept.scores] == ["user_feedback"]
