"""When a snooze ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rag_monitor.alerting.alert_actions import AlertAction, snooze_end

NOW = datetime(2026, 3, 28, 22, 30, tzinfo=UTC)


def test_a_snooze_ends_after_its_hours_whatever_the_zone() -> None:
    zone = ZoneInfo("Asia/Shanghai")

    assert snooze_end(AlertAction.SNOOZE_1H, NOW, zone) == NOW + timedelta(hours=1)
    assert snooze_end(AlertAction.SNOOZE_8H, NOW, zone) == NOW + timedelta(hours=8)
    assert snooze_end(AlertAction.ACKNOWLEDGE, NOW, zone) is None


@pytest.mark.parametrize(
    ("zone", "ends_at"),
    [
        ("UTC", datetime(2026, 3, 29, 9, tzinfo=UTC)),
        # There it is the 29th already.
        ("Asia/Shanghai", datetime(2026, 3, 30, 1, tzinfo=UTC)),
        # Clocks go forward in the night between.
        ("Europe/Berlin", datetime(2026, 3, 29, 7, tzinfo=UTC)),
        ("America/Los_Angeles", datetime(2026, 3, 29, 16, tzinfo=UTC)),
    ],
)
def test_tomorrow_morning_is_nine_o_clock_of_the_next_day_there(
    zone: str, ends_at: datetime
) -> None:
    assert snooze_end(AlertAction.SNOOZE_MORNING, NOW, ZoneInfo(zone)) == ends_at
