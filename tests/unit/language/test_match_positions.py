"""A pattern tried only where it may begin finds what a search through the whole text finds."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_monitor.language import clock_times, dates, numbers
from rag_monitor.language.match_positions import digit_runs, matches_at, places_before, places_of

BITS = (
    "0 1 2 3 10 12 123 1,234 2.5 .5 2021 1999-12-31 年 月 日 个 半 天 小时 公里 一 二 两 三十 点 "
    "时 分 下午 : - / . % half quarter twice thrice two seventeen and a one hours o'clock pm a.m. "
    "in the morning may march september st nd th first second of ① ❶ ٣ \t \n the"
)
TEXT = st.lists(st.sampled_from([*BITS.split(" "), " ", " "]), max_size=14).map("".join)


def starts(text: str) -> list[int]:
    return [start for start, _ in digit_runs(text)]


def with_points(text: str) -> list[int]:
    return [start - (text[start - 1 : start] == ".") for start in starts(text)]


def months(text: str) -> list[int]:
    return places_of(dates._MONTHS, text)


def han_times(text: str) -> list[int]:
    return places_before(clock_times._SIGNS, clock_times._HAN_REACH, text)


TRIED: list[tuple[re.Pattern[str], Callable[[str], list[int]]]] = [
    (numbers._ASCII_ARABIC, with_points),
    (dates._DASHED, starts),
    (dates._LONE_YEAR, starts),
    (dates._NAMED[0], months),
    (dates._NAMED[1], starts),
    (dates._NAMED[2], months),
    (clock_times._HAN_TIME, han_times),
    (clock_times._ENGLISH, starts),
]


@pytest.mark.parametrize(("pattern", "places"), TRIED, ids=range(len(TRIED)))
@settings(max_examples=300)
@given(text=TEXT)
def test_what_begins_somewhere_is_found_there(
    pattern: re.Pattern[str], places: Callable[[str], list[int]], text: str
) -> None:
    found = [match.span() for match in matches_at(pattern, text, places(text))]

    assert found == [match.span() for match in pattern.finditer(text)]


@pytest.mark.parametrize("phrase", numbers.FORMS, ids=lambda phrase: phrase[1][0])
@settings(max_examples=500)
@given(text=TEXT)
def test_phrases_begin_no_further_before_what_they_hold(
    phrase: tuple[tuple[str, ...], tuple[str, ...], int, re.Pattern[str], object], text: str
) -> None:
    _, held, reach, pattern, _ = phrase
    found = matches_at(pattern, text, places_before(held, reach, text))

    assert [m.span() for m in found] == [m.span() for m in pattern.finditer(text)]
