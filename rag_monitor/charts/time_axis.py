"""The axis of time below a chart: where it is divided, and how moments are named."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from rag_monitor.domain.window import Window

_DAY: Final = timedelta(days=1)
_DATED: Final = timedelta(hours=50)
"""Longer windows are divided in days."""
_FIRST_DAY: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock shows, whatever the zone
_STEPS: Final = tuple(
    timedelta(minutes=minutes)
    for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 10080, 14400)
)


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """How moments are named, and where the days and hours begin by which an axis is divided."""

    zone: tzinfo
    days: bool = False
    """Whether it is divided in days, not in times of day."""
    dated: bool = False
    """Whether times of day come round twice, so that they need the day beside them."""

    @classmethod
    def over(cls, window: Window, zone: tzinfo) -> TimeAxis:
        """For a window; a day may last an hour longer."""
        days = window.length > _DATED
        return cls(zone, days=days, dated=not days and window.length > timedelta(hours=25))

    def label(self, moment: datetime) -> str:
        """In five letters, which is what there is room for: midnight is named by its day."""
        shown = moment.astimezone(self.zone)
        day = self.days or (self.dated and (shown.hour, shown.minute) == (0, 0))
        return shown.strftime("%m-%d" if day else "%H:%M")

    def exactly(self, moment: datetime) -> str:
        """With the day and the time, where both are needed."""
        day, time = moment.astimezone(self.zone).strftime("%m-%d %H:%M").split()
        if self.days and time == "00:00":
            return day
        return f"{day} {time}" if self.days or self.dated else time

    def between(self, window: Window) -> str:
        """Both ends; of a whole day in this zone its date alone."""
        start, end = self.exactly(window.start), self.exactly(window.end)
        whole = self.days and len(start) == len(end) == 5 and window.length < timedelta(hours=26)
        return start if whole else f"{start}–{end}"

    def round_times(self, start: datetime, end: datetime, apart: timedelta) -> list[datetime]:
        """The moments from `start` to `end` that clocks of the zone show as round.

        At least `apart` from one another. A day begins at midnight there, though it may last 23 or
        25 hours. An hour that clocks leave out is left out; of one that they show twice the first
        is taken.
        """
        steps = [step for step in _STEPS if step >= _DAY or not self.days]
        step = next((step for step in steps if step >= apart), steps[-1])
        # What the clocks show, without a zone: only so do 23 hours make a day.
        shown = start.astimezone(self.zone).replace(tzinfo=None) - _DAY
        shown -= (shown - _FIRST_DAY) % step
        moments: list[datetime] = []
        while (moment := shown.replace(tzinfo=self.zone).astimezone(UTC)) <= end:
            exists = moment.astimezone(self.zone).replace(tzinfo=None) == shown
            if moment >= start and (exists or step >= _DAY):
                moments.append(moment)
            shown += step
        return moments
