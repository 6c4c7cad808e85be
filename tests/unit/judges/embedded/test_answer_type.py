"""What kind of thing a question asks for, and whether a sentence holds one."""

import pytest

from rag_monitor.judges.embedded.answer_type import AnswerType
from rag_monitor.judges.embedded.segments import IndexedPassage, Segment

CASES = [
    # question, a sentence that holds it, one that does not
    ("How long is the warranty?", "It covers two years.", "It covers the motor."),
    ("What does the repair cost?", "It is free in the first year.", "It takes ten days."),
    ("When does the term start?", "It starts on 4 September.", "It starts with a lecture."),
    ("At what time does the pool open?", "Swimmers get in at 7 a.m.", "It has six lanes."),
    ("What share of the money is lost?", "8 percent of it.", "8 of the boxes."),
    ("How often is the filter changed?", "Every three months.", "With the lid open."),
    ("Who wrote the report?", "It was written by Ida Holm.", "It was written in haste."),
    ("Why is the sea salty?", "Because rivers carry salt.", "A beautiful blue."),
    ("保修期是多久?", "自购买起两年。", "电机由厂家提供。"),
    ("换屏多少钱?", "换屏需要399元。", "换屏需要三天。"),
    ("末班车几点发车?", "最后一班在23:30驶出。", "全程四公里。"),
    ("鲸是在哪一年被保护的?", "1986年起禁止捕鲸。", "鲸有三十米长。"),
    ("谁写了这份报告?", "由王教授完成。", "内容非常详细。"),
    ("为什么海水是咸的?", "因为河流带来了盐分。", "海面十分平静。"),
]


@pytest.mark.parametrize(("question", "holding", "other"), CASES, ids=[c[0] for c in CASES])
def test_a_sentence_holds_what_is_asked_for_or_not(question: str, holding: str, other: str) -> None:
    asked = AnswerType(Segment(question))

    assert asked.stated_by(Segment(holding))
    assert not asked.stated_by(Segment(other))
    assert asked.stated_in(IndexedPassage(f"{other} {holding}"))
    assert not asked.stated_in(IndexedPassage(other))


def test_what_the_question_states_is_no_answer_to_it() -> None:
    asked = AnswerType(Segment("How much iron do 100 grams of lentils hold?"))

    assert not asked.stated_by(Segment("100 grams of lentils hold iron."))
    assert asked.stated_by(Segment("100 grams of lentils hold 6.5 mg of it."))


def test_of_other_questions_nothing_is_known() -> None:
    for question in ("Tell me about hedgehogs", "介绍一下刺猬"):
        asked = AnswerType(Segment(question))
        assert not asked.measured
        assert not asked.worded


@pytest.mark.parametrize(
    ("question", "picking", "other"),
    [
        ("Is the pool open?", "Yes.", "The pool."),
        ("Is tea or coffee cheaper?", "Tea.", "Tea costs two euros."),
        ("泳池开放吗?", "开放。", "下个月才有。"),
        ("茶和咖啡哪个便宜?", "茶。", "茶两块钱。"),
    ],
)
def test_some_answers_need_no_words_of_their_own(question: str, picking: str, other: str) -> None:
    asked = AnswerType(Segment(question))

    assert asked.chosen_by(Segment(picking))
    assert not asked.chosen_by(Segment(other))
