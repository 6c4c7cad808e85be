"""Which questions need the turns before them, and what they pick out of an answer."""

from __future__ import annotations

import pytest

from rag_monitor.language.follow_ups import LONGEST, depends_on_history
from rag_monitor.language.picks import picked

DEPENDENT = [
    "And for students?",
    "Why?",
    "Why not?",
    "How so?",
    "When?",
    "How much?",
    "What about the second one?",
    "How about on Mondays?",
    "But what if I cancel?",
    "How much does it cost?",
    "Can I bring them on board?",
    "Is that included?",
    "How do I change that?",
    "What happens after that?",
    "Where can I get one?",
    "Which of them is faster?",
    "And what is the difference between these?",
    "Is there a cheaper one?",
    "Do children need a ticket too?",
    "What else do I need?",
    "Without insurance?",
    "For children under six?",
    "Next year?",
    "Which documents?",
    "How many pages?",
    "How do I apply?",
    "Does he speak English?",
    "Thanks! Is it open on Sundays?",
    "What are its opening hours?",
    "Can I get there by bus?",
    "那学生呢?",
    "学生呢？",
    "它多少钱?",
    "为什么？",
    "为什么不行？",
    "多久?",
    "怎么取消？",
    "会过期吗？",
    "需要预约吗？",
    "第二个呢？",
    "后者包含什么？",
    "前者和后者有什么区别？",
    "还有别的办法吗？",
    "那超过一年的呢？",
    "如果是外国人呢？",
    "周末也开门吗？",
    "这种要多久？",
    "这个怎么收费？",
    "他们什么时候下班？",
    "没有身份证的可以吗？",
    "好的，那怎么申请？",
    "一样吗？",
    "在哪里办？",
    "其中哪个最快？",
]
ALONE = [
    "How long is the warranty?",
    "How long does it take to get a visa?",
    "Is it possible to pay by card?",
    "Is there a lift in the building?",
    "If my parcel is lost, how do I report it?",
    "What is diabetes?",
    "Where is the library?",
    "Who wrote Hamlet?",
    "Which documents do I need for a passport?",
    "What is the best time this year to visit Rome?",
    "How do I connect the printer to the network?",
    "I bought a phone yesterday. Can I return it?",
    "opening hours library",
    "Can I change the name on my booking?",
    "What is the form that I need for tax returns?",
    "Do students get a discount at the cinema?",
    "How do I reset my password if I forgot it?",
    "Are there any trains to Ghent on Sunday?",
    "成人门票多少钱？",
    "护照怎么办？",
    "什么是糖尿病？",
    "图书馆几点开门？",
    "如果快递丢了，怎么赔偿它？",
    "怎么办理居住证？",
    "孕妇可以坐飞机吗？",
    "请问公积金提取需要哪些材料？",
    "发票丢了还能报销吗？",
    "北京大学在哪里？",
    "社保卡和医保卡有什么区别？",
    "其他城市的社保怎么转移到北京？",
    "",
    "   ",
    "?",
    "？？",
]


@pytest.mark.parametrize("question", DEPENDENT)
def test_a_question_that_leaves_out_what_it_is_about_depends_on_its_history(question: str) -> None:
    assert depends_on_history(question)


@pytest.mark.parametrize("question", ALONE)
def test_a_question_that_says_what_it_is_about_stands_alone(question: str) -> None:
    assert not depends_on_history(question)


def test_a_long_question_stands_alone() -> None:
    assert depends_on_history("And it?")
    assert not depends_on_history("And it? " + "x" * LONGEST)


@pytest.mark.parametrize(
    ("question", "answer", "chosen"),
    [
        ("What about the second one?", "There are two plans: Solo and Team.", "team"),
        ("And the latter?", "You can pay in full or in four instalments.", "in four instalments"),
        ("The last one?", "1. Red\n2. Green\n3. Blue", "blue"),
        ("第二个多少钱？", "有畅享套餐和尊享套餐。", "尊享套餐"),
        ("前者几天到？", "普通快递、冷链快递", "普通快递"),
    ],
)
def test_a_place_in_a_list_picks_out_what_stands_there(
    question: str, answer: str, chosen: str
) -> None:
    found = picked(question, answer)

    assert found is not None
    assert found[0] == chosen
    assert chosen not in found[1]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long does it last?", "There are two plans: Solo and Team."),
        ("The third one?", "There are two plans: Solo and Team."),
        ("The second one?", ""),
        ("第三个呢？", "有畅享套餐和尊享套餐。"),
    ],
)
def test_what_is_not_listed_is_not_picked(question: str, answer: str) -> None:
    assert picked(question, answer) is None
