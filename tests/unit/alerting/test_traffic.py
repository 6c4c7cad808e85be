"""Silence against an app's rhythm, and far fewer or far more than in the weeks before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.rhythm import HOUR, present_silence, regular_share
from rag_monitor.domain.alert import Finding, RuleKind
from rag_monitor.domain.window import Window
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.alerting.fakes import APP, FakeAlerts, FakeEstimates, FakeRules, rule

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def counted(an_hour: Callable[[datetime], int], weeks: int, hours: int) -> list[int]:
    """Whole hours from a Monday on."""
    return [an_hour(MONDAY + n * HOUR) for n in range(weeks * 168 + hours)]


def office(at: datetime) -> int:
    return 10 if at.weekday() < 5 and 9 <= at.hour < 17 else 0


def look(counts: list[int]) -> tuple[bool, int]:
    silence = present_silence(counts, MONDAY + len(counts) * HOUR)
    return silence.surprising, silence.unknown


def test_nights_and_weekends_of_an_office_app_are_no_surprise() -> None:
    for hours in range(168):
        assert look(counted(office, 2, hours))[0] is False


def test_an_office_app_that_is_silent_on_a_working_morning_is_missed() -> None:
    counts = counted(office, 2, 13)  # Monday, one o'clock
    counts[-4:] = [0] * 4

    assert look(counts)[0] is True


def test_a_weekend_that_was_never_seen_is_not_expected_to_bring_anything() -> None:
    counts = counted(lambda at: 10 if at.weekday() < 5 else 0, 0, 5 * 24 + 12)

    surprising, unknown = look(counts)
    assert surprising is False
    assert unknown == 12


def test_one_holiday_in_ten_does_not_silence_the_rule() -> None:
    counts = counted(office, 2, 13)
    counts[72:96] = [0] * 24  # Thursday of the first week
    counts[-4:] = [0] * 4

    assert look(counts)[0] is True


def test_a_slow_app_is_missed_only_after_long() -> None:
    counts = counted(lambda at: 1, 3, 0)

    assert look([*counts, *[0] * 5])[0] is False
    assert look([*counts, *[0] * 12])[0] is True


def test_the_share_of_busy_hours() -> None:
    assert regular_share([0, 1, 0, 0, 1, 0]) == 0.5
    assert regular_share([0, 0]) == 0.0


def _sent(now: int, *weeks: int) -> Finding:
    def counts(app: str, window: Window) -> dict[str, int]:
        back = round((EPOCH - window.end) / timedelta(days=7))
        return {"ok": ([now, *weeks][back] if back <= len(weeks) else 0)}

    source = FakeEstimates(trace_counts=counts)
    engine = AlertEngine(source, FakeRules([]), FakeAlerts(), ManualClock())  # type: ignore[arg-type]
    return engine.try_rule(rule(RuleKind.TRAFFIC), EPOCH)[APP]


@pytest.mark.parametrize(
    ("now", "weeks", "active"),
    [
        (300, (100, 120, 90, 110), True),  # a surge
        (230, (100, 120, 90, 110), False),  # less than twice the busiest week
        (30, (100, 120, 90, 110), True),  # a drop
        (50, (100, 120, 90, 110), False),  # more than half of the quietest
        (0, (100, 120, 90, 110), False),  # none at all is for the rule on no data
        (100, (100, 40), False),
        (20, (60, 45), False),  # far fewer, but perhaps by chance
    ],
)
def test_traffic_speaks_beyond_the_weeks_before_and_beyond_chance(
    now: int, weeks: tuple[int, ...], active: bool
) -> None:
    assert _sent(now, *weeks).active is active


def test_traffic_cannot_tell_without_two_weeks_or_of_a_handful() -> None:
    young, small = _sent(100, 100), _sent(9, 8, 7)

    assert (young.active, young.notes) == (None, ("no_earlier_weeks",))
    assert (small.active, small.needed, small.judged) == (None, 50, 9)
