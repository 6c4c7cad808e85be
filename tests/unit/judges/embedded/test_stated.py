# ruff: noqa: E501 - a case reads best on one line
"""Numbers and days in each other's place: every word of the statement stands in the passages."""

import pytest

from rag_monitor.judges.embedded.stated import another_fits, by_sort, places
from rag_monitor.language.numbers import find_quantities
from tests.unit.judges.embedded.cases import judged, reasons

PAIRS = [
    # passage, statement that holds, statement with the number of something else
    ("Men may give blood every twelve weeks and women every sixteen weeks.", "Women can give blood every sixteen weeks.", "Women can give blood every twelve weeks."),
    ("The lamp carries a warranty of two years on the housing, and ten years on the battery.", "There is a warranty of two years on the housing.", "There is a warranty of ten years on the housing."),
    ("Parts are repaired within 14 days. A deposit is returned after 30 days.", "The deposit is returned after 30 days.", "The deposit is returned after 14 days."),
    ("普通用户删除的文件保留10天，会员删除的文件保留30天。", "会员删除的文件保留30天。", "会员删除的文件保留10天。"),
    ("标准模式下可连续工作120分钟，强力模式下可工作60分钟。", "强力模式下可工作60分钟。", "强力模式下可工作120分钟。"),
    ("事假工资不发放。病假期间按基本工资的70%发放，不低于最低工资标准的80%。", "病假期间按基本工资的70%发放。", "病假期间按基本工资的80%发放。"),
    ("普通病房探视时间为15:00至19:00；产科病房探视时间为16:00至18:00。", "产科病房的探视时间是16:00至18:00。", "产科病房的探视时间是15:00至19:00。"),
    ("报名截止日期为7月25日，比赛于8月16日在体育馆举行。", "比赛于8月16日举行。", "比赛于7月25日在体育馆举行。"),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=[str(n) for n in range(len(PAIRS))])
def test_a_number_of_something_else_is_a_mismatch(pair: tuple[str, str, str]) -> None:
    passage, right, wrong = pair

    assert reasons(judged("", (passage,), right)) != ["number_mismatch"]
    assert reasons(judged("", (passage,), wrong)) == ["number_mismatch"]


def test_a_number_that_the_question_gave_is_not_held_against_the_passages() -> None:
    passage = (
        "Orders above 45 dollars ship free. Orders of 20 dollars or less cost 4 dollars to ship."
    )
    answer = (
        "Your order of 20 dollars would cost 4 dollars to ship, above 45 dollars it ships free."
    )

    found = judged("What does it cost to ship an order of 20 dollars?", (passage,), answer)

    assert "number_mismatch" not in reasons(found)


def test_both_ends_of_a_range_are_said_of_the_same() -> None:
    text = "早餐供应时间7:00至10:00，晚餐供应时间18:00至21:00。"

    [(_, row)] = by_sort(find_quantities(text)).items()
    near = [stated.near for stated in places(text, row)]

    assert near[0] == near[1]
    assert near[2] == near[3]
    assert "早餐" in near[0]
    assert "早餐" not in near[2]


def test_what_is_said_of_a_number_ends_where_the_next_begins() -> None:
    text = "men wait twelve weeks and women wait sixteen weeks"

    [(_, row)] = by_sort(find_quantities(text)).items()
    first, second = places(text, row)

    assert "men" not in second.near
    assert "woman" in second.near
    assert "woman" not in first.near | first.beside


def test_too_few_words_tell_nothing() -> None:
    text = "5 days. Wait 9 days for the second parcel."
    [(_, row)] = by_sort(find_quantities(text)).items()
    known = places(text, row)

    assert not another_fits(known[0], known, dict.fromkeys(["wait", "parcel", "second"], 1.0))
