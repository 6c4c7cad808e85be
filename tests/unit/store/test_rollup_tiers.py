"""Which blocks a window is read from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.store.rollup_tiers import TIERS, Run, ceil_to, cover, floor_to, tiers_for

_DAY = datetime(2026, 1, 5, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)


def test_a_day_is_one_block_and_odd_ends_are_shorter_ones() -> None:
    start, end = _DAY - 71 * _MINUTE, _DAY + timedelta(days=2, minutes=12)

    runs = cover(start, end, TIERS)

    assert [(run.minutes, (run.end - run.start) // _MINUTE) for run in runs] == [
        (1, 1),
        (10, 10),
        (60, 60),
        (1440, 2880),
        (10, 10),
        (1, 2),
    ]


def test_a_stale_day_is_read_from_hours_and_its_stale_hour_from_tens() -> None:
    stale = frozenset({(1440, _DAY), (60, _DAY + timedelta(hours=3))})

    runs = cover(_DAY, _DAY + timedelta(days=1), TIERS, stale)

    assert [(run.minutes, (run.end - run.start) // _MINUTE) for run in runs] == [
        (60, 180),
        (10, 60),
        (60, 1200),
    ]


def test_steps_off_the_hour_use_no_hours() -> None:
    assert tiers_for(_DAY, timedelta(hours=6)) == (60, 10)
    assert tiers_for(_DAY + 10 * _MINUTE, timedelta(hours=6)) == (10,)
    assert tiers_for(_DAY, timedelta(minutes=24)) == ()
    assert tiers_for(_DAY + _MINUTE, None) == TIERS


@given(
    offset=st.integers(-3000, 3000),
    length=st.integers(1, 6000),
    stale=st.sets(st.tuples(st.sampled_from(TIERS), st.integers(-600, 600))),
)
def test_the_runs_are_the_window_without_gap_and_without_what_is_stale(
    offset: int, length: int, stale: set[tuple[int, int]]
) -> None:
    start = _DAY + offset * _MINUTE
    end = start + length * _MINUTE
    marks = frozenset((minutes, _DAY + place * minutes * _MINUTE) for minutes, place in stale)

    runs = cover(start, end, TIERS, marks)

    assert runs[0].start == start
    assert runs[-1].end == end
    assert all(before.end == after.start for before, after in pairwise(runs))
    assert not any(_touches(run, marks) for run in runs if run.minutes > 1)


def _touches(run: Run, marks: frozenset[tuple[int, datetime]]) -> bool:
    assert floor_to(run.start, run.minutes) == run.start
    assert ceil_to(run.end, run.minutes) == run.end
    return any(
        minutes == run.minutes and run.start <= minute < run.end for minutes, minute in marks
    )
