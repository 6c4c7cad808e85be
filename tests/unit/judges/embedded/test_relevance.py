"""Relevance of passages to a question, and of answers to it."""

import pytest

from rag_monitor.domain.judgement import Aspect
from rag_monitor.judges.embedded.combination import (
    ANSWER_FEATURES,
    PASSAGE_FEATURES,
    weights_for,
    with_relevance,
)
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.relevance import passage_features
from rag_monitor.judges.embedded.segments import Segment
from tests.unit.judges.embedded.cases import judge, judged


def graded(question: str, answer: str) -> float:
    [verdict] = judged(question, None, answer).of(Aspect.GRADE)
    return verdict.probability


def ranked(question: str, *passages: str) -> list[int]:
    found = judged(question, passages, "").of(Aspect.RELEVANCE)
    return sorted(range(len(found)), key=lambda n: -found[n].probability)


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        (
            "How long is the guarantee on the Lumo heater?",
            (
                "The Lumo heater is guaranteed for three years from the day of purchase.",
                "The Lumo heater is sold in black, white and a long narrow grey version.",
                "To claim the guarantee of the Lumo heater, send the receipt to our office.",
            ),
        ),
        (
            "蓝鲸X2音箱充满电要多长时间?",
            (
                "蓝鲸X2音箱配有10瓦充电器,从零充满大约需要三小时。",
                "蓝鲸X2音箱充电时指示灯为红色,充完后变为绿色。",
                "蓝鲸X2音箱支持双机串联,组成立体声。",
            ),
        ),
    ],
)
def test_the_passage_that_holds_what_is_asked_for_comes_first(
    question: str, passages: tuple[str, ...]
) -> None:
    assert ranked(question, *passages)[0] == 0
    assert ranked(question, *passages[::-1])[0] == len(passages) - 1


@pytest.mark.parametrize(
    ("question", "right", "echo"),
    [
        (
            "How deep is the lake?",
            "The lake is 64 metres deep.",
            "As deep as the lake is, that is how deep it is.",
        ),
        ("湖有多深?", "湖深64米。", "湖的深度就是湖有多深。"),
    ],
)
def test_an_echo_of_the_question_is_no_answer(question: str, right: str, echo: str) -> None:
    assert graded(question, right) > 0.5
    assert graded(question, right) > graded(question, echo) + 0.2
    assert graded(question, right) > graded(question, question) + 0.2


@pytest.mark.parametrize(
    ("question", "right", "padding"),
    [
        (
            "How deep is the lake?",
            "It is 64 metres deep.",
            "Music is good for the mood. Candles come in many colours. Cousins often visit in May.",
        ),
        ("湖有多深?", "湖深64米。", "音乐让人心情舒畅。蜡烛有许多颜色。朋友聚会时多拍照片。"),
    ],
)
def test_padding_lowers_a_grade(question: str, right: str, padding: str) -> None:
    assert graded(question, f"{right} {padding}") < graded(question, right)


def test_a_bare_reply_answers_a_question_of_yes_or_no() -> None:
    assert graded("Is the museum open on Mondays?", "No.") > 0.5
    assert graded("充电宝能托运吗?", "不能。") > 0.5


@pytest.mark.parametrize("question", ["How long is the guarantee on the Lumo heater?", "保修多久?"])
def test_every_feature_has_a_weight_and_none_is_negative(question: str) -> None:
    learnt = weights_for(question)

    assert len(learnt.passage.weights) == len(PASSAGE_FEATURES)
    assert len(learnt.answer.weights) == len(ANSWER_FEATURES)
    assert min(*learnt.passage.weights, *learnt.answer.weights) >= 0


def test_features_of_passages_lie_between_0_and_1() -> None:
    question = "How long is the guarantee of 2024?"
    contexts = ("It is three years.", "", "The guarantee of 2024 is long. It is long!", "2023")
    rows = passage_features(EvidenceIndex.build(contexts, question), Segment(question), [])

    assert len(rows) == len(contexts)
    assert all(len(row) == len(PASSAGE_FEATURES) for row in rows)
    assert all(0 <= value <= 1 for row in rows for value in row)


def test_the_identity_tells_of_the_weights_of_relevance() -> None:
    assert with_relevance("a") != with_relevance("b")
    assert judge().identity.prompts == with_relevance(judge()._model.digest)
