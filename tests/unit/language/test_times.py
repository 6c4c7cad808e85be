"""Times of day and days of the week, as people in both languages write them."""

from __future__ import annotations

import pytest

from rag_monitor.language.clock_times import find_times
from rag_monitor.language.normalise import fold
from rag_monitor.language.numbers import find_quantities


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("营业时间为9:00-17:00", [540, 1020]),
        ("上午9点至下午5点", [540, 1020]),
        ("下午五点。", [1020]),
        ("早上八点半，晚上十点一刻", [510, 1335]),
        ("中午12点，凌晨12点，中午1点", [720, 0, 780]),
        ("下午5：30", [1050]),
        ("17点30分", [1050]),
        ("9时至18时", [540, 1080]),
        ("每晚22时前，最迟20点截止", [1320, 1200]),
        ("工作时长8小时，3时许", []),
        ("from 9 a.m. to 5:30 pm", [540, 1050]),
        ("12 am and 12 p.m.", [0, 720]),
        ("8 in the evening, 10 o'clock in the morning", [1200, 600]),
    ],
)
def test_times_are_read_in_minutes_of_the_day(text: str, minutes: list[int]) -> None:
    found = find_times(fold(text))

    assert [time.minutes for time in found] == minutes
    assert all(time.exact for time in found)


@pytest.mark.parametrize(
    "text",
    [
        "四点建议",
        "一点优惠",
        "有两点要求：一是价格",
        "比例为3:1",
        "升高3点5度",
        "I am 5",
        "20 in the end",
        "10:20:30",
    ],
)
def test_other_points_and_colons_are_no_times(text: str) -> None:
    assert find_times(fold(text)) == []


def test_a_time_without_its_half_of_the_day_may_be_either() -> None:
    [five], [afternoon], [six] = (
        find_quantities(fold(text)) for text in ("五点整", "17:00", "下午六点")
    )

    assert five.equals(afternoon)
    assert afternoon.equals(five)
    assert not six.equals(afternoon)
    assert not six.equals(five)


@pytest.mark.parametrize(
    ("text", "off"), [("八折", 20), ("打8.5折", 15), ("85折", 15), ("八五折", 15), ("九折起", 10)]
)
def test_a_discount_is_what_is_taken_off(text: str, off: float) -> None:
    [quantity] = find_quantities(fold(text))

    assert (quantity.value, quantity.kind) == (off, "percent")


@pytest.mark.parametrize("text", ["百折不挠", "三折页", "第8折"])
def test_other_folds_are_no_discount(text: str) -> None:
    assert all(quantity.kind != "percent" for quantity in find_quantities(fold(text)))
