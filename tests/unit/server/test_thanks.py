"""After a mark the page says what the mark does, and no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag_monitor.aggregation.label_eligibility import corrects_judge
from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML, token_of, trace_id_of

COUNTS = "counts in the estimates."
CHECKS = "checks the judge."
KEPT = "Your mark is recorded."


def draw(services: Services, judge: str) -> str:
    """The first trace, drawn for this judge or for people as well."""
    trace_id = trace_id_of(services)
    stored = services.traces.stored["default", trace_id]  # type: ignore[attr-defined]
    decision = SamplingDecision(
        judge=judge, included=True, probability=0.02, reason=SamplingReason.BASE_RATE
    )
    services.traces.stored["default", trace_id] = replace(  # type: ignore[attr-defined]
        stored, decisions=(*stored.decisions, decision)
    )
    return trace_id


@pytest.mark.parametrize(
    ("drawn", "metric", "value", "said"),
    [
        (True, "faithfulness", "bad", COUNTS),
        (True, "faithfulness", "unsure", KEPT),
        (True, "answer_relevance", "bad", CHECKS),  # the judge gave no value
        (True, "", "bad", KEPT),
        (False, "faithfulness", "bad", CHECKS),
        (False, "faithfulness", "unsure", KEPT),
    ],
)
async def test_a_mark_is_said_to_do_what_it_does(
    services: Services, drawn: bool, metric: str, value: str, said: str
) -> None:
    trace_id = draw(services, PEOPLE) if drawn else trace_id_of(services)
    async with open_client(services, headers=HTML, follow_redirects=True) as client:
        token = token_of((await client.get(f"/traces/{trace_id}")).text)
        form = {"token": token, "trace_id": trace_id, "value": value, "metric": metric}
        alone = (await client.post("/ui/feedback", data=form)).text

    assert [one for one in (COUNTS, CHECKS, KEPT) if one in alone] == [said]


async def test_a_mark_on_a_trace_that_is_not_there_yet_is_recorded(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        token = token_of((await client.get("/alerts")).text)
        form = {"token": token, "trace_id": "f" * 32, "value": "bad", "metric": "faithfulness"}
        answer = await client.post("/ui/feedback", data=form)

    assert answer.headers["location"].endswith("?thanks=kept#feedback")


def test_beside_a_judge_that_samples_people_correct_that_one_only() -> None:
    drawn = {PEOPLE, "packed", "embedded"}

    def score(judge: str) -> Score:
        identity = JudgeIdentity(name=judge, model="m", prompts="p")
        return Score(metric="faithfulness", status=ScoreStatus.SCORED, value=0.5, judge=identity)

    assert corrects_judge(score("packed"), drawn)
    assert not corrects_judge(score("embedded"), drawn)
    assert corrects_judge(score("embedded"), {PEOPLE, "embedded"})
    assert not corrects_judge(score("embedded"), {"embedded"})
