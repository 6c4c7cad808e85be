"""Questions asked again, on cases that were written before the threshold was chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_monitor.language.complaints import complains
from rag_monitor.language.repetition import REPEATED, repeated_turns, repeats, similarity

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "repetition_cases.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
CHOSEN_BY = [case for place, case in enumerate(CASES) if place // 2 % 2 == 0]
CHECKED_BY = [case for place, case in enumerate(CASES) if place // 2 % 2 == 1]


def _counts(cases: list[dict[str, object]]) -> tuple[int, int]:
    """Repetitions found, and other questions taken for one."""
    taken = [case for case in cases if repeats(str(case["question"]), str(case["earlier"]))]
    hits = sum(bool(case["repeats"]) for case in taken)
    return hits, len(taken) - hits


def test_the_threshold_holds_on_both_halves_of_the_cases() -> None:
    assert [len(half) for half in (CHOSEN_BY, CHECKED_BY)] == [32, 32]
    assert (_counts(CHOSEN_BY), _counts(CHECKED_BY)) == ((14, 0), (8, 0))


@pytest.mark.parametrize(
    ("question", "earlier"),
    [
        ("HOW LONG is the warranty?!", "how long is the warranty"),
        ("How long is the warranty???", "How long is the warranty?"),
        ("保修期多久", "保修期多久？？"),
        ("保修期多久", "保修期多久啊"),
        ("保修期多久", "保修期多久"),
    ],
)
def test_the_same_words_are_the_same_question(question: str, earlier: str) -> None:
    assert repeats(question, earlier)


@pytest.mark.parametrize("question", ["", "?", "的吗", "and what is it?", "😀"])
def test_a_question_without_content_repeats_nothing_else(question: str) -> None:
    assert similarity(question, "How long is the warranty?") == 0.0


def test_the_nearest_earlier_question_is_the_one_repeated() -> None:
    questions = ["How long is the warranty?", None, "Where is the shop?", "Warranty, how long?"]

    assert repeated_turns([*questions, "how long is the warranty"]) == (None, None, None, 0, 3)
    assert REPEATED <= 1


@pytest.mark.parametrize(
    "text",
    [
        "That's wrong.",
        "No, that is not correct!",
        "that's not what I asked",
        "You didn't answer my question.",
        "I already told you: the blue one.",
        "Your answer was completely useless.",
        "wrong answer",
        "You don't understand me.",
        "It doesn't help at all.",
        "你说的不对",
        "答非所问",
        "不是我想问的",
        "你没听懂我的问题",
        "不对，我问的是金卡",
        "这个回答错了",
        "太差了",
        "垃圾客服",
        "我刚才已经问过了",
    ],
)
def test_complaints_are_heard(text: str) -> None:
    assert complains(text)


@pytest.mark.parametrize(
    "text",
    [
        "What do I do if the amount on my bill is wrong?",
        "The parcel was delivered to the wrong address.",
        "Is it true that the warranty lasts two years?",
        "How do I complain about a branch?",
        "Thanks, that is right.",
        "I did not receive the parcel.",
        "The card does not work abroad. Why?",
        "密码不对怎么办？",
        "账单金额错了怎么办？",
        "怎么投诉？",
        "没收到包裹怎么办",
        "订单填错了地址能改吗",
        "回答得很好，谢谢",
        "垃圾桶多少钱？",
        "What is the wrong-way penalty?",
    ],
)
def test_questions_about_trouble_are_no_complaints(text: str) -> None:
    assert not complains(text)
