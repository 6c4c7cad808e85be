"""Windows and steps that are made of hours and days already added up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rag_monitor.domain.window import Window
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.quality import on_grid, step_for
from rag_monitor.server.schemas.values import MAX_SPAN, counted_window, window_of

_NOW = datetime(2026, 1, 5, 12, 34, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("length", "start"),
    [
        ("1h", datetime(2026, 1, 5, 11, 34, 56, tzinfo=UTC)),
        ("6h", datetime(2026, 1, 5, 6, 30, tzinfo=UTC)),
        ("24h", datetime(2026, 1, 4, 12, 0, tzinfo=UTC)),
        ("7d", datetime(2025, 12, 29, 12, 0, tzinfo=UTC)),
    ],
)
def test_long_windows_begin_at_a_round_time_and_end_now(length: str, start: datetime) -> None:
    assert window_of(_NOW, length, None, None) == Window(start, _NOW)


def test_the_longest_window_stays_within_what_is_kept() -> None:
    assert window_of(_NOW, "400d", None, None).length == MAX_SPAN


def test_a_window_given_by_its_ends_is_kept_to_the_second() -> None:
    since = _NOW - timedelta(days=3, seconds=7)

    assert window_of(_NOW, None, since, None) == Window(since, _NOW)


def test_numbers_are_of_the_minutes_that_begin_in_the_window() -> None:
    since = datetime(2026, 1, 5, 12, 0, 30, tzinfo=UTC)
    minute = datetime(2026, 1, 5, 12, 1, tzinfo=UTC)

    assert counted_window(_NOW, None, since, None).start == minute
    assert counted_window(_NOW, None, None, minute).end == minute
    with pytest.raises(ProblemError, match="no minute begins in it"):
        counted_window(_NOW, None, since, since + timedelta(seconds=29))


def test_a_window_cannot_begin_twice() -> None:
    with pytest.raises(ProblemError, match="either `window` or `from`"):
        window_of(_NOW, "1h", _NOW - timedelta(days=3), None)

    until = _NOW - timedelta(days=1)
    assert window_of(_NOW, "1h", None, until) == Window(until - timedelta(hours=1), until)


@pytest.mark.parametrize(
    ("hours", "points", "minutes"),
    [(1, 60, 1), (24, 60, 30), (24 * 7, 60, 180), (24 * 30, 60, 720), (24 * 400, 60, 10080)],
)
def test_steps_are_round_and_few_enough(hours: int, points: int, minutes: int) -> None:
    window = Window.ending(_NOW, timedelta(hours=hours))

    assert step_for(window, points) == timedelta(minutes=minutes)


def test_steps_begin_at_multiples_of_themselves() -> None:
    step = timedelta(hours=3)

    window = on_grid(Window.ending(_NOW, timedelta(days=1)), step)

    assert window == Window(datetime(2026, 1, 4, 12, tzinfo=UTC), _NOW)
    assert on_grid(window, step) == window
