"""Values that differ between passages."""

from __future__ import annotations

import pytest

from rag_monitor.language.value_conflicts import (
    ValueConflict,
    states_another_value,
    value_conflicts,
    values_in,
)

OLD = "Price list 2023: The basic plan costs 49 euros per month."
NEW = "Price list 2026: The basic plan costs 59 euros per month."
ANSWER = "The basic plan costs 49 euros per month."


def test_two_passages_that_differ_in_the_answers_value_are_found() -> None:
    found = value_conflicts("What does the basic plan cost?", ANSWER, ["Opening hours.", NEW, OLD])

    assert found == [ValueConflict(used=2, other=1, used_text=OLD, other_text=NEW)]


def test_chinese_passages_that_differ_are_found() -> None:
    old, new = "2023年价目表：基础版每月收费49元。", "2026年价目表：基础版每月收费59元。"

    assert value_conflicts("基础版多少钱？", "基础版每月49元。", [old, new]) == [
        ValueConflict(used=0, other=1, used_text=old, other_text=new)
    ]


def test_a_value_that_both_passages_state_hides_no_other() -> None:
    old, new = (f"The battery costs {n} dollars and has a warranty of 1 year." for n in (189, 215))

    found = value_conflicts("What is it?", "189 dollars, with a warranty of 1 year.", [old, new])

    assert [(one.used, one.other) for one in found] == [(0, 1)]


def test_values_in_chinese_words_are_no_words_that_tell_what_they_are_about() -> None:
    old, new = "原装滤芯套装一百三十九元。", "原装滤芯套装一百六十八元。"

    found = value_conflicts("一套滤芯多少钱？", "原装滤芯一百三十九元。", [old, new])

    assert [(one.used, one.other) for one in found] == [(0, 1)]


def test_of_two_passages_the_first_conflict_counts() -> None:
    other = "The basic plan in the shop costs {} euros per month."
    old, new = f"{OLD} {other.format(49)}", f"{NEW} {other.format(59)}"

    found = value_conflicts("What does the basic plan cost?", ANSWER, [old, new, new])

    assert [(one.used, one.other, one.used_text, one.other_text) for one in found] == [
        (0, 1, OLD, NEW), (0, 2, OLD, NEW)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer", "passages"),
    [
        ("What did the basic plan cost in 2023?", ANSWER, [OLD, NEW]),
        ("What does the basic plan cost?", "It was 49 euros and is 59 euros now.", [OLD, NEW]),
        ("What does it cost?", "It costs 70 euros.", [OLD, NEW]),
        ("What does it cost?", "It depends.", [OLD, NEW]),
        ("What does it cost?", ANSWER, [OLD, OLD.replace("49 euros", "49.00 EUR")]),
        ("What does it cost?", ANSWER, [OLD + " " + NEW]),
        ("What does it cost?", ANSWER, [OLD, "The premium plan with support costs 99 euros."]),
        ("How long?", "It takes 3 days.", ["Delivery takes 3 days.", "Delivery costs 5 euros."]),
    ],
)
def test_what_is_no_conflict(question: str, answer: str, passages: list[str]) -> None:
    assert value_conflicts(question, answer, passages) == []


@pytest.mark.parametrize(
    ("statement", "passage", "question", "another"),
    [
        ("It costs 59 euros.", OLD, "", True),
        ("It costs 49 euros.", OLD, "", False),
        ("It costs 59 euros.", OLD, "Is it 59 euros?", False),
        ("It costs 59 euros.", "The basic plan has a warranty of 2 years.", "", False),
        ("It is one of the plans.", OLD, "", False),
        ("市区公交单程两元七角。", "市区公交单程票价两元五角。", "", True),
        ("最低按千分之五收取。", "保价费按千分之六收取。", "", True),
    ],
)
def test_a_value_in_place_of_the_passages_is_another_one(
    statement: str, passage: str, question: str, another: bool
) -> None:
    assert states_another_value(statement, values_in(passage), question) is another
