"""Charts of values over time: what is drawn, what is written, and what the script reads."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.charts import scale
from rag_monitor.charts.spark import spark
from rag_monitor.charts.time_axis import TimeAxis
from rag_monitor.charts.time_chart import (
    LARGE,
    SMALL,
    Frame,
    Line,
    Mark,
    TimeChart,
    drawn,
    numbers_table,
)
from rag_monitor.domain.window import Window
from rag_monitor.testing import EPOCH

HOUR = timedelta(hours=1)
YS = re.compile(r",(-?[\d.]+)")


def hours(count: int, start: datetime = EPOCH, step: timedelta = HOUR) -> list[Window]:
    return [Window(start + n * step, start + (n + 1) * step) for n in range(count)]


def line(values: Sequence[float | None], **more: Any) -> Line:
    return Line(
        name="<i>line",
        values=values,
        texts=["–" if value is None else f"{value:.2f}" for value in values],
        **more,
    )


def chart(
    values: Sequence[float | None], *marks: Mark, windows: Sequence[Window] = (), **more: Any
) -> TimeChart:
    return TimeChart(
        label='<b>"',
        windows=windows or hours(len(values)),
        lines=[line(values, **more)],
        scale=scale.ratios,
        axis=TimeAxis(UTC),
        marks=marks,
        traces="/traces?app=a%26b",
    )


def told(svg: str) -> dict[str, Any]:
    """What the script of the pages reads."""
    found = re.search(r"data-chart='([^']*)'", svg)
    assert found is not None
    read: dict[str, Any] = json.loads(html.unescape(found[1]))
    return read


def test_a_gap_in_the_data_is_a_gap_in_the_line() -> None:
    values = [None if n == 2 else 0.8 for n in range(6)]
    svg = drawn(chart(values, bounds=[(v and 0.7, v and 0.9) for v in values]), LARGE)

    assert svg.count("<polyline") == 2
    assert svg.count("<polygon") == 2


def test_a_line_of_nothing_is_nothing() -> None:
    assert drawn(chart([None, None])) == ""


def test_what_the_script_reads_is_what_was_drawn() -> None:
    marks = [Mark(at=EPOCH + HOUR / 2, name="v2 'beta' <b>")]
    read = told(drawn(chart([0.25, None, 0.5], *marks)))

    assert read["lines"] == [
        {
            "name": "<i>line",
            "kind": "first",
            "values": [0.25, None, 0.5],
            "said": ["0.25", "–", "0.50"],
        }
    ]
    assert read["starts"] == [round((EPOCH + n * HOUR).timestamp()) for n in range(4)]
    assert read["marks"] == [[round((EPOCH + HOUR / 2).timestamp()), "v2 'beta' <b>"]]
    assert read["traces"] == "/traces?app=a%26b"


def test_names_from_outside_are_escaped_everywhere() -> None:
    made = chart([0.5, 0.6], Mark(at=EPOCH + HOUR, name="</svg>'\"<script>"))

    for text in (str(drawn(made, LARGE)), str(numbers_table(made, "Time"))):
        assert "<script" not in text
        assert "<i>" not in text
        assert "<b>" not in text


def test_the_table_has_the_numbers_and_leads_to_their_traces() -> None:
    table = str(numbers_table(chart([0.25, None, 0.5]), "Time"))

    assert re.findall(r'<td class="n">([^<]*)<', table) == ["0.25", "0.50"]
    assert re.findall(r"<(?:form|input)[^>]*>", table) == [
        '<form class="during" action="/traces">',
        '<input type="hidden" name="app" value="a&amp;b">',
    ]
    start = round(EPOCH.timestamp())
    assert re.findall(r'<button name="during" value="([^"]*)">', table) == [
        f"{start}-{start + 3600}",
        f"{start + 7200}-{start + 10_800}",
    ]


def test_bars_stand_on_the_axis_and_a_count_of_none_is_no_bar() -> None:
    made = TimeChart(
        label="l",
        windows=hours(3),
        lines=[line([4, 0, 2], bars=True)],
        scale=scale.counts,
        axis=TimeAxis(UTC),
    )

    found = re.findall(r'<rect class="bar first".*? y="([\d.]+)".*? height="([\d.]+)"', drawn(made))

    assert len(found) == 2
    assert {float(y) + float(height) for y, height in found} == {SMALL.floor}


def test_a_spark_has_a_bar_for_every_step_in_which_something_happened() -> None:
    svg = spark([4, 0, 2], [1, 0, 0], '<b>"')

    first, bad = re.findall(r' d="([^"]*)"', svg)
    assert re.findall(r"v-(\d+)", first) == ["27", "14"]
    assert bad.count("M") == 1
    assert "<b>" not in svg
    assert spark([0, 0], [0, 0], "nothing") == ""


def test_a_point_of_a_day_says_when_it_begins() -> None:
    """Numbers are added up by days of UTC: in Shanghai those begin at eight."""
    windows = hours(4, EPOCH.replace(hour=0), timedelta(days=1))
    axis = TimeAxis.over(Window(windows[0].start, windows[-1].end), ZoneInfo("Asia/Shanghai"))

    first = EPOCH.date()
    days = [f"{first + timedelta(days=n):%m-%d} 08:00" for n in range(5)]
    assert [axis.between(w) for w in windows] == [f"{a}–{b}" for a, b in itertools.pairwise(days)]
    whole = TimeAxis(UTC, days=True)
    assert whole.between(windows[0]) == f"{first:%m-%d}"


def test_the_times_between_the_ends_of_the_axis_are_round() -> None:
    start = EPOCH - timedelta(hours=24, minutes=7)
    windows = hours(8, start, (EPOCH - start) / 8)

    assert re.findall(r">(\d\d:\d\d)</text>", drawn(chart([0.8] * 8, windows=windows), LARGE)) == [
        "11:53", "18:00", "00:00", "06:00", "12:00",
    ]  # fmt: skip


def test_marks_stand_where_they_happened_and_are_named_where_there_is_room() -> None:
    marks = [
        Mark(at=EPOCH + timedelta(hours=at), name=name, kind=kind)
        for at, name, kind in (
            (1.0, "v1<", "release"),
            (1.01, "v1.1", "release"),
            (3.5, "a-very-long-release-name", "alert"),
        )
    ]

    svg = drawn(chart([0.8] * 4, *marks), LARGE)

    paths = re.findall(r'<path class="mark (\w+)" d="([^"]*)"/>', svg)
    assert paths == [("release", "M250,16V172M252,16V172"), ("alert", "M875,16V172")]
    assert named(svg) == [
        ("release", "after", "v1.1", "+1"),
        ("alert", "before", "a-very-long-release-name", ""),
    ]


def named(svg: str) -> list[tuple[str, str, str, str]]:
    """Kind, side, name and number of others of each name that is written."""
    found = r'class="name of-(\w+) (\w+)"[^>]*><span>([^<]*)</span>(?:<b>([^<]*)</b>)?'
    return re.findall(found, svg)


def test_marks_that_share_a_name_are_counted_and_listed_with_their_times() -> None:
    marks = [
        Mark(at=EPOCH + timedelta(hours=at), name=name)
        for at, name in ((1.0, 'v"10'), (1.1, "v11"), (1.2, "v12"), (2.5, "v13"))
    ]

    svg = str(drawn(chart([0.8] * 4, *marks), LARGE))

    assert named(svg) == [("release", "after", "v12", "+2"), ("release", "after", "v13", "")]
    titles = re.findall(r'<div class="name[^>]* title="([^"]*)"', svg)
    assert [html.unescape(title).split("\n") for title in titles] == [
        ['13:00 v"10', "13:06 v11", "13:12 v12"],
        ["14:30 v13"],
    ]
    label = re.search(r'aria-label="([^"]*)"', svg)
    assert label is not None
    assert html.unescape(label[1]) == '<b>"; 13:00 v"10, 13:06 v11, 13:12 v12'


@given(st.lists(st.floats(0.001, 3.999), min_size=1, max_size=40))
def test_every_mark_has_a_name_or_is_counted(placed: list[float]) -> None:
    marks = [Mark(at=EPOCH + timedelta(hours=at), name="v1.2") for at in placed]

    for frame in (SMALL, LARGE):
        found = named(str(drawn(chart([0.8] * 4, *marks), frame)))
        assert sum(1 + int(more or 0) for *_, more in found) == len(marks)


@given(st.lists(st.tuples(st.floats(0.01, 3.99), st.integers(1, 60)), max_size=12))
def test_the_names_of_marks_share_no_place(placed: list[tuple[float, int]]) -> None:
    marks = [Mark(at=EPOCH + timedelta(hours=at), name="x" * n) for at, n in placed]

    svg = drawn(chart([0.8] * 4, *marks), SMALL)

    boxes = [
        (float(x), float(x) + float(width))
        for x, width in re.findall(r'<foreignObject x="([\d.]+)%" width="([\d.]+)%"', svg)
    ]
    assert all(first[1] <= second[0] + 0.011 for first, second in pairwise(boxes))
    assert all(0 <= start < end <= 100.011 for start, end in boxes)


@pytest.mark.parametrize("frame", [SMALL, LARGE])
@given(st.integers(1, 30), st.integers(0, 1439), st.integers(5, 1000))
def test_times_do_not_run_into_one_another_in_the_narrowest_place(
    frame: Frame, days: int, minute: int, step: int
) -> None:
    """Letters are 12 pixels high whatever the width: a time of five needs some 34."""
    start = EPOCH + timedelta(days=days, minutes=minute)
    windows = hours(24, start, timedelta(minutes=step))

    svg = str(drawn(chart([0.8] * 24, windows=windows), frame))

    reach = {"start": (0.0, 34.0), "middle": (17.0, 17.0), "end": (34.0, 0.0)}
    found = []
    for share, anchor in re.findall(
        r'<text x="([\d.]+)%" y="\d+" text-anchor="(start|middle|end)">\d\d:\d\d</text>', svg
    ):
        x = float(share) / 100 * frame.width
        found.append((x - reach[anchor][0], x + reach[anchor][1]))
    assert len(found) >= 2
    assert all(left[1] + 3 <= right[0] for left, right in itertools.pairwise(found))


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=8))
def test_every_number_stays_inside_the_frame(values: list[float | None]) -> None:
    svg = drawn(chart(values), LARGE)

    ys = [float(y) for pair in re.findall(r'points="([^"]*)"', svg) for y in YS.findall(pair)]
    assert all(LARGE.top <= y <= LARGE.floor for y in ys)


def ticks(of: scale.Scale) -> list[str]:
    return [said for _, said in of.ticks]


def test_ticks_are_round_and_say_their_unit() -> None:
    assert ticks(scale.ratios([0.62, 0.91])) == ["0.6", "0.7", "0.8", "0.9", "1.0"]
    assert ticks(scale.ratios([0.97, 1.0])) == ["0.90", "0.95", "1.00"]
    assert ticks(scale.shares([0.013, 0.041])) == ["0%", "2%", "4%", "6%"]
    assert ticks(scale.counts([3])) == ["0", "1", "2", "3"]
    assert ticks(scale.counts([2900])) == ["0", "1,000", "2,000", "3,000"]
    assert ticks(scale.durations([840])) == ["0", "500 ms", "1000 ms"]
    assert ticks(scale.durations([2400])) == ["0", "1 s", "2 s", "3 s"]
    assert ticks(scale.durations([5_400_000])) == ["0", "0.5 h", "1 h", "1.5 h"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_an_axis_of_ratios_holds_all_and_stays_between_none_and_all(values: list[float]) -> None:
    found = scale.ratios(values)

    assert 0.0 <= found.low <= min(values)
    assert max(values) <= found.high <= 1.0
    assert 2 <= len(found.ticks) <= 7


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=9))
def test_axes_from_nothing_up_hold_all(values: list[float]) -> None:
    for make in (scale.counts, scale.durations):
        found = make(values)
        assert found.low == 0.0
        assert found.high >= max(values) * (1 - 1e-9)
        assert 2 <= len(found.ticks) <= 7
        assert len(set(ticks(found))) == len(found.ticks)
