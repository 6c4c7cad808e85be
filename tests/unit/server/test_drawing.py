"""Charts and highlighting."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rag_monitor.charts.durations import milliseconds, phases_of, timeline
from rag_monitor.charts.scores import interval_bar
from rag_monitor.charts.time_axis import TimeAxis
from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Timings
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.ui.pages import answer_pieces, passage_views, support_verdicts
from rag_monitor.server.ui.pictures import judge_marks
from rag_monitor.testing import EPOCH, make_trace


def point(number: int, value: float | None) -> Estimate:
    start = EPOCH + timedelta(hours=number)
    return Estimate(
        series=Series(project="p", app="a", metric="faithfulness", judge="combined"),
        window=Window(start, start + timedelta(hours=1)),
        value=value,
        lower=None if value is None else max(0.0, value - 0.1),
        upper=None if value is None else min(1.0, value + 0.1),
    )


def says(start: int | None, end: int | None, p: float = 0.9, index: int = 0) -> Verdict:
    return Verdict(aspect=Aspect.SUPPORT, probability=p, start=start, end=end, index=index)


@pytest.mark.parametrize("name", ["Asia/Shanghai", "America/New_York", "Europe/Berlin", "Etc/UTC"])
def test_a_day_on_the_axis_begins_at_midnight_of_the_zone(name: str) -> None:
    """Clocks went back in Berlin on 25 October and in New York on 1 November."""
    zone = ZoneInfo(name)
    end = datetime(2026, 11, 2, 14, 30, tzinfo=zone)
    window = Window(end.astimezone(UTC) - timedelta(days=14), end.astimezone(UTC))
    axis = TimeAxis.over(window, zone)

    found = axis.round_times(window.start, window.end, timedelta(hours=20))

    assert [moment.astimezone(zone).strftime("%H:%M") for moment in found] == ["00:00"] * 14
    assert [axis.label(moment) for moment in found[-3:]] == ["10-31", "11-01", "11-02"]
    lengths = {after - before for before, after in itertools.pairwise(found)}
    assert lengths - {timedelta(days=1)} == (
        {timedelta(hours=25)} if name in {"America/New_York", "Europe/Berlin"} else set()
    )


def test_hours_that_clocks_leave_out_or_show_twice_are_no_trouble() -> None:
    zone = ZoneInfo("Europe/Berlin")

    def hours(start: datetime) -> list[str]:
        window = Window(start, start + timedelta(hours=6))
        axis = TimeAxis.over(window, zone)
        return [
            axis.label(m) for m in axis.round_times(window.start, window.end, timedelta(hours=1))
        ]

    assert hours(datetime(2026, 3, 28, 23, tzinfo=UTC)) == [
        "00:00", "01:00", "03:00", "04:00", "05:00", "06:00", "07:00",
    ]  # fmt: skip
    assert hours(datetime(2026, 10, 24, 22, tzinfo=UTC)) == [
        "00:00", "01:00", "02:00", "03:00", "04:00", "05:00",
    ]  # fmt: skip


def test_the_interval_of_a_bar_ends_where_its_upper_end_is() -> None:
    bar = interval_bar(0.61, 0.53, 0.69, "0.61")

    found = re.search(r'class="range" x="([\d.]+)" y="1" width="([\d.]+)"', bar)
    assert found is not None
    start, width = map(float, found.groups())
    assert (start, start + width) == pytest.approx((0.53 * 200, 0.69 * 200))


def test_labels_of_charts_are_escaped() -> None:
    assert 'aria-label="&lt;b&gt;&#34;"' in interval_bar(0.5, 0.4, 0.6, '<b>"')


def test_phases_meet_where_generation_begins() -> None:
    trace = make_trace(
        timings=Timings(end_to_end_ms=1000.0, generation_ms=700.0, retrieval_ms=200.0)
    )

    phases = {p.kind: (p.start, p.end) for p in phases_of(trace, str)}

    assert phases == {"whole": (0, 1000), "retrieval": (100, 300), "generation": (300, 1000)}


def test_timings_that_contradict_one_another_still_draw() -> None:
    trace = make_trace(timings=Timings(end_to_end_ms=0.0, generation_ms=700.0, retrieval_ms=900.0))

    drawing = timeline(phases_of(trace, str), 5.0, "first", "label")
    assert "<svg" in drawing
    assert "900 ms" in drawing
    assert timeline([], None, "first", "label") == ""


def test_durations_read_like_durations() -> None:
    said = ("–", "0 ms", "0.25 ms", "3.4 ms", "10 ms", "84 ms", "1.24 s", "81.9 s",
            "14 min", "6 h 05 min")  # fmt: skip
    values = (None, 0.0, 0.254, 3.44, 9.97, 84.2, 1240.0, 81_920.0, 840_000.0, 21_900_000.0)
    assert tuple(map(milliseconds, values)) == said


def test_the_pieces_make_up_the_whole_answer() -> None:
    answer = "甲是乙。丙是丁。 End"
    verdicts = [says(4, 8, 0.1, 1), says(0, 4), says(2, 6), says(7, 900), says(None, None)]

    pieces = answer_pieces(answer, verdicts)

    assert "".join(p.text for p in pieces) == answer
    assert [p.verdict.holds if p.verdict else None for p in pieces] == [True, False, None]


def test_an_outside_judge_speaks_before_the_embedded_one() -> None:
    def score(name: str, p: float) -> Score:
        return Score(
            metric="faithfulness",
            status=ScoreStatus.SCORED,
            judge=JudgeIdentity(name=name, model="m"),
            verdicts=(
                says(0, 1, p),
                Verdict(aspect=Aspect.RELEVANCE, probability=p, index=0),
            ),
        )

    scores = (score("embedded-lexical", 0.1), score("packed", 0.9))

    assert support_verdicts(scores)[0].probability == 0.9
    view = passage_views(scores, 2)
    assert view[0].relevant is not None
    assert view[0].relevant.probability == 0.9
    assert view[1].relevant is None


def test_a_chart_marks_where_another_judge_takes_over() -> None:
    judges = ["embedded/a", "", "embedded/a", "embedded-lexical/b", "embedded-lexical/b"]
    points = [
        replace(point(number, 0.9 if judge else None), rests_on=judge)
        for number, judge in enumerate(judges)
    ]

    (mark,) = judge_marks(points, "another judge")

    assert (mark.at, mark.name) == (EPOCH + timedelta(hours=3), "another judge")
