"""A question that continues a conversation is judged in its light; any other is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.embedded_judge.follow_ups import Judged, sets, trace_of
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.embedded.judge import ASPECTS
from rag_monitor.testing import make_trace
from tests.unit.judges.embedded.cases import judge

FIRST = sets("first")
ADULTS = EarlierTurn(question="What do adults pay for a day ticket?", answer="Adults pay 14 euros.")
PRICES = "A day ticket costs 14 euros for adults and 9 euros for students."


def scored(request: JudgeRequest) -> dict[Aspect, float]:
    found = judge().judge_one(request)
    return {verdict.aspect: verdict.probability for verdict in found.verdicts}


def follow_up(question: str, answer: str, *history: EarlierTurn, query: str | None = None) -> float:
    request = JudgeRequest(
        question=question,
        query=query,
        answer=answer,
        contexts=(PRICES,),
        aspects=ASPECTS,
        history=history,
    )
    return scored(request)[Aspect.GRADE]


def test_right_answers_score_above_wrong_ones() -> None:
    judged = Judged(judge(), history=True)
    outcomes = [outcome for row in FIRST for what, outcome in judged.pairs(row) if what == "answer"]

    assert len(outcomes) == 30
    assert sum(outcomes) >= 0.9 * len(outcomes)


@pytest.mark.parametrize("what", ["context relevance", "context sufficiency"])
def test_the_passage_that_belongs_to_the_conversation_scores_above_another(what: str) -> None:
    with_turns, without = (
        [outcome for row in FIRST for name, outcome in Judged(judge(), history=h).pairs(row)
         if name == what]
        for h in (True, False)
    )  # fmt: skip

    assert sum(with_turns) >= 0.9 * len(with_turns)
    assert sum(without) < sum(with_turns), "the question alone does not tell them apart"


@pytest.mark.parametrize(
    ("question", "answer", "history"),
    [
        ("And for students?", "Adults pay 14 euros.", ADULTS),
        (
            "那学生呢？",
            "成人门票每张60元。",
            EarlierTurn(question="成人门票多少钱？", answer="成人门票每张60元。"),
        ),
    ],
)
def test_the_answer_of_the_turn_before_answers_nothing(
    question: str, answer: str, history: EarlierTurn
) -> None:
    assert follow_up(question, answer) > 0.5, "it looks like an answer"
    assert follow_up(question, answer, history) < 0.1


def test_an_answer_that_is_new_stays_good() -> None:
    assert follow_up("And for students?", "Students pay 9 euros.", ADULTS) > 0.9


def test_yes_alone_answers_a_follow_up() -> None:
    assert follow_up("Do students pay less too?", "Yes, students pay less.", ADULTS) > 0.5


def test_the_second_one_is_what_stands_second() -> None:
    plans = EarlierTurn(question="Which plans are there?", answer="There are two: Solo and Team.")

    right = follow_up("What does the second one cost?", "Team costs 11 euros.", plans)
    wrong = follow_up("What does the second one cost?", "Solo costs 3 euros.", plans)

    assert right > wrong


def test_turns_further_back_count_where_the_last_one_depends_on_them() -> None:
    last = EarlierTurn(question="And children?", answer="Children enter free.")
    row = {"question": "And students?", "history": []}
    off = "Students may borrow twenty books."

    def relevance(*history: EarlierTurn) -> float:
        request = replace(
            build_request(trace_of(row, "x", off), ASPECTS),
            history=history,
        )
        return scored(request)[Aspect.RELEVANCE]

    assert relevance(ADULTS, last) < relevance(last)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long is the warranty?", "The warranty lasts 24 months."),
        ("标准保修期多长？", "标准保修期为24个月。"),
    ],
)
def test_a_question_that_stands_alone_scores_as_if_nothing_was_said_before(
    question: str, answer: str
) -> None:
    alone = make_trace(question, answer)
    later = replace(alone, history=(ADULTS,))

    assert build_request(later, ASPECTS) == build_request(alone, ASPECTS)
    assert scored(build_request(later, ASPECTS)) == scored(build_request(alone, ASPECTS))


def test_passages_are_judged_by_the_query_as_if_nothing_was_said_before() -> None:
    query = "price of a day ticket for students"
    request = JudgeRequest(
        question="And for students?",
        query=query,
        answer="9 euros.",
        contexts=(PRICES,),
        aspects=ASPECTS,
    )
    told = scored(replace(request, history=(ADULTS,)))

    for aspect in (Aspect.RELEVANCE, Aspect.SUFFICIENCY):
        assert told[aspect] == scored(request)[aspect]


def test_the_query_is_what_the_question_continues() -> None:
    """Its own words stand in for those of the turns before."""
    answer = "Parking for students is free."
    by_query = follow_up("And for students?", answer, ADULTS, query="parking fees for students")

    assert by_query > follow_up("And for students?", answer, ADULTS, query="price of a day ticket")


def test_a_query_that_guesses_the_answer_takes_nothing_from_it() -> None:
    """Some applications search with an answer that a model made up."""
    answer = "Students pay 9 euros."
    guess = "A day ticket costs 9 euros for students, who pay at the desk."

    assert follow_up("And for students?", answer, ADULTS, query=guess) > 0.8


def test_support_does_not_depend_on_the_conversation() -> None:
    request = JudgeRequest(
        question="And for students?", answer="9 euros.", contexts=(PRICES,), aspects=ASPECTS
    )
    told = scored(replace(request, history=(ADULTS,)))
    alone = scored(request)

    for aspect in (Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED, Aspect.USE):
        assert told[aspect] == alone[aspect]
