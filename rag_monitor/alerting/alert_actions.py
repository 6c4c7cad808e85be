"""What somebody on call does about an alert in one click: acknowledge it, or snooze it for a while.

A snooze is a silence of the rule on the app: states go on being recorded, and what still fires at
its end is announced then.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final


class AlertAction(StrEnum):
    """As the address of an alert preselects it: `/alerts/ID?do=snooze-1h`."""

    ACKNOWLEDGE = "acknowledge"
    SNOOZE_1H = "snooze-1h"
    SNOOZE_8H = "snooze-8h"
    SNOOZE_MORNING = "snooze-morning"
    """Until tomorrow morning, `MORNING`."""


TOGETHER: Final = "incident"
"""`with=incident` in such an address: all open alerts of the incident are meant."""
MORNING: Final = time(9)
_LENGTHS: Final = {
    AlertAction.SNOOZE_1H: timedelta(hours=1),
    AlertAction.SNOOZE_8H: timedelta(hours=8),
}


def snooze_end(action: AlertAction, now: datetime, zone: tzinfo) -> datetime | None:
    """When a snooze ends, in UTC; None: the action is none.

    Args:
        action: What is done.
        now: When.
        zone: Whose tomorrow and nine o'clock are meant.
    """
    if action in _LENGTHS:
        return now + _LENGTHS[action]
    if action is not AlertAction.SNOOZE_MORNING:
        return None
    tomorrow = now.astimezone(zone).date() + timedelta(days=1)
    return datetime.combine(tomorrow, MORNING, tzinfo=zone).astimezone(UTC)
