"""Numbers that are the least or the most of something."""

from __future__ import annotations

import pytest

from rag_monitor.language.bounds import Bound, bound, limits
from rag_monitor.language.normalise import fold
from rag_monitor.language.numbers import find_quantities


def first_bound(text: str) -> Bound | None:
    folded = fold(text)
    return bound(folded, find_quantities(folded)[0])


@pytest.mark.parametrize(
    "text",
    [
        "Bookings over four hours need approval.",
        "Stay at least 3 days.",
        "A minimum of €20 is charged.",
        "It costs no less than $5.",
        "Not under 18 kg.",
        "Children aged 6 years or older may enter.",
        "Orders of 40 euros and above ship free.",
        "至少提前3天申请。",
        "不少于20人",
        "新密码不能短于12位",
        "满5年的员工",
        "超过30天的订单",
        "6岁以上儿童",
    ],
)
def test_the_least(text: str) -> None:
    assert first_bound(text) is Bound.LEAST


@pytest.mark.parametrize(
    "text",
    [
        "Bookings up to four hours are free.",
        "At most 3 days.",
        "No more than two weeks.",
        "It must not exceed 25 kg.",
        "Answer within 15 minutes.",
        "Loads below 90 kg are fine.",
        "Rooms for 20 persons or fewer.",
        "最多借5本书。",
        "不得超过10天",
        "最好别超过12小时",
        "未满3年的员工",
        "5天以内退货",
        "低于5度",
        "10页内免费",
    ],
)
def test_the_most(text: str) -> None:
    assert first_bound(text) is Bound.MOST


@pytest.mark.parametrize(
    "text",
    [
        "It costs 5 euros.",
        "Wait 3 days.",
        "The over-used 4 kg bag.",
        "费用为5元。",
        "等待3天。",
        "5天内容更新",
    ],
)
def test_neither(text: str) -> None:
    assert first_bound(text) is None


def test_a_time_of_day_is_no_limit() -> None:
    assert first_bound("Doors open no later than 9:30.") is None


def test_ends_of_a_range_are_limits_where_they_have_a_unit() -> None:
    text = fold("Players of 12 to 20 years play rooms 3 to 5 for 2 hours.")
    quantities = find_quantities(text)

    found = limits(text, quantities)

    assert [(q.value, q.unit) for q in found] == [(12.0, "year"), (20.0, "year")]
