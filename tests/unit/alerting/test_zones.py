"""Times inside findings are told in the reader's zone; what only looks like one stays."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from rag_monitor.alerting.conditions.wording import in_zone

SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("since 2026-01-05 20:30 UTC, 3 judged", "since 2026-01-06 04:30 Asia/Shanghai, 3 judged"),
        (
            "2026-01-05 00:00 UTC – 2026-01-05 01:00 UTC",
            "2026-01-05 08:00 Asia/Shanghai – 2026-01-05 09:00 Asia/Shanghai",
        ),
        ("score of 2026-13-45 99:99 UTC fell", "score of 2026-13-45 99:99 UTC fell"),
        ("score of 9999-12-31 23:59 UTC fell", "score of 9999-12-31 23:59 UTC fell"),
        ("score of 0000-00-00 00:00 UTC fell", "score of 0000-00-00 00:00 UTC fell"),
    ],
)
def test_times_are_told_in_the_zone_and_names_are_left_alone(text: str, told: str) -> None:
    assert in_zone(text, SHANGHAI) == told


def test_in_utc_nothing_changes() -> None:
    assert in_zone("since 2026-01-05 20:30 UTC", UTC) == "since 2026-01-05 20:30 UTC"
