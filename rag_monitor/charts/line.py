"""A metric over time: line, interval, where releases appeared, and the axis of time below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from markupsafe import Markup

from rag_monitor.charts import svg
from rag_monitor.domain.window import Estimate, Window

_DAY: Final = timedelta(days=1)
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

    @classmethod
    def over(cls, window: Window, zone: tzinfo) -> TimeAxis:
        """For a window; a day may last an hour longer."""
        return cls(zone, days=window.length > timedelta(hours=25))

    def label(self, moment: datetime) -> str:
        """In five letters, which is what there is room for."""
        return moment.astimezone(self.zone).strftime("%m-%d" if self.days else "%H:%M")

    def exactly(self, moment: datetime) -> str:
        """With the day and the time, where both are needed."""
        label, time = self.label(moment), moment.astimezone(self.zone).strftime("%H:%M")
        return f"{label} {time}" if self.days and time != "00:00" else label

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseMark:
    """What happened inside the window: a release appeared, another judge took over."""

    at: datetime
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The size of a chart, in its own units."""

    width: float
    height: float
    left: float = 0.0
    right: float
    """Room for the labels of the value axis."""
    top: float = 14.0
    """Room for the names of releases."""
    bottom: float = 15.0
    ticks: int
    """Labels on the time axis, about; 2: its ends only."""
    levels: int
    """Lines across, with their value."""
    hover: bool
    """Whether every point tells its numbers under the pointer; costs about 100 bytes each."""


SMALL: Final = Frame(width=240, height=92, right=27, ticks=2, levels=2, hover=False)
LARGE: Final = Frame(width=560, height=170, right=36, ticks=5, levels=3, hover=True)


def trend(
    points: Sequence[Estimate],
    marks: Sequence[ReleaseMark],
    label: str,
    axis: TimeAxis,
    frame: Frame = SMALL,
) -> Markup:
    """The chart; empty where nothing was scored. A gap in the data is a gap in the line.

    Args:
        points: One per step, oldest first.
        marks: What happened inside the window.
        label: What the chart shows, for those who cannot see it.
        axis: Names moments.
        frame: Its size.
    """
    drawing = _Drawing.of(points, frame)
    if drawing is None:
        return Markup("")
    parts = [*drawing.axes(axis), *drawing.releases(marks)]
    for run in drawing.runs():
        parts += drawing.run(run)
    if frame.hover:
        parts += drawing.hints(axis)
    return svg.picture("trend", frame.width, frame.height, label, parts)


@dataclass(frozen=True, slots=True)
class _Drawing:
    points: Sequence[Estimate]
    frame: Frame
    window: Window
    low: float
    high: float

    @classmethod
    def of(cls, points: Sequence[Estimate], frame: Frame) -> _Drawing | None:
        ends = [
            end
            for point in points
            if point.value is not None
            for end in (point.value, point.lower, point.upper)
            if end is not None
        ]
        if not ends:
            return None
        low, high = _padded(min(ends), max(ends))
        window = Window(points[0].window.start, points[-1].window.end)
        return cls(points, frame, window, low, high)

    @property
    def plot(self) -> float:
        return self.frame.width - self.frame.left - self.frame.right

    @property
    def floor(self) -> float:
        return self.frame.height - self.frame.bottom

    def x(self, moment: datetime) -> float:
        return self.frame.left + self.plot * ((moment - self.window.start) / self.window.length)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.floor - share * (self.floor - self.frame.top)

    def middle(self, number: int) -> float:
        window = self.points[number].window
        return self.x(window.start + window.length / 2)

    def axes(self, axis: TimeAxis) -> list[Markup]:
        end = self.frame.left + self.plot
        parts = []
        for number in range(self.frame.levels):
            value = self.low + (self.high - self.low) * number / (self.frame.levels - 1)
            parts.append(_LEVEL.format(self.frame.left, end, self.y(value), end + 4, value))
        for moment in self.ticks(axis):
            ends = {self.window.start: "start", self.window.end: "end"}
            anchor = ends.get(moment, "middle")
            x, y = self.x(moment), self.frame.height - 3
            parts.append(svg.text(x, y, anchor, axis.label(moment)))
        return parts

    def ticks(self, axis: TimeAxis) -> list[datetime]:
        """Both ends of the window, and round times between them that leave the ends room."""
        start, end = self.window.start, self.window.end
        room = self.window.length * _ROOM
        most = self.frame.ticks - 1
        if most < 2:
            return [start, end]
        apart = self.window.length / (most + 0.5)
        return [start, *axis.round_times(start + room, end - room, apart), end]

    def releases(self, marks: Sequence[ReleaseMark]) -> list[Markup]:
        """A dashed line each; a name where it does not run into the one before."""
        parts = []
        free_from = self.frame.left
        for mark in sorted(marks, key=lambda mark: mark.at):
            x = self.x(mark.at)
            parts.append(_RELEASE.format(x, self.frame.top - 3, self.floor, mark.name))
            name = mark.name if len(mark.name) <= 14 else mark.name[:13] + "…"
            width = 6.0 * len(name)
            start = min(max(x - width / 2, self.frame.left), self.frame.width - width)
            if start >= free_from:
                parts.append(_NAME.format(start, name))
                free_from = start + width + 6
        return parts

    def runs(self) -> list[list[int]]:
        runs: list[list[int]] = [[]]
        for number, point in enumerate(self.points):
            if point.value is not None:
                runs[-1].append(number)
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]

    def run(self, run: Sequence[int]) -> list[Markup]:
        parts = [self._band(run)]
        line = " ".join(self._at(n, self.points[n].value) for n in run)
        if len(run) > 1:
            parts.append(Markup('<polyline class="line" points="{}"/>').format(line))
        parts.append(svg.dot(self.middle(run[-1]), self.y(self.points[run[-1]].value or 0.0)))
        return parts

    def _band(self, run: Sequence[int]) -> Markup:
        bounded = [n for n in run if self.points[n].lower is not None]
        if not bounded:
            return Markup("")
        if len(bounded) == 1:
            at, point = self.middle(bounded[0]), self.points[bounded[0]]
            ends = self.y(point.lower or 0.0), self.y(point.upper or 0.0)
            return svg.vertical("whisker", at, *ends)
        there = [self._at(n, self.points[n].upper) for n in bounded]
        back = [self._at(n, self.points[n].lower) for n in reversed(bounded)]
        return Markup('<polygon class="band" points="{}"/>').format(" ".join(there + back))

    def _at(self, number: int, value: float | None) -> str:
        return f"{self.middle(number):.1f},{self.y(value or 0.0):.1f}"

    def hints(self, axis: TimeAxis) -> list[Markup]:
        parts = []
        for point in self.points:
            if point.value is None:
                continue
            bounds = "" if point.lower is None else f" ({point.lower:.2f}–{point.upper:.2f})"
            x, end = self.x(point.window.start), self.x(point.window.end)
            began = axis.exactly(point.window.start)
            text = f"{began}  {point.value:.2f}{bounds}  n={point.judged}"
            height = self.floor - self.frame.top
            parts.append(_HINT.format(x, self.frame.top, end - x, height, text))
        return parts


_ROOM: Final = 0.16
"""Share of the axis that the label of an end needs, in the large letters of a phone."""

_LEVEL: Final = Markup(
    '<line class="level" x1="{0:.0f}" x2="{1:.0f}" y1="{2:.1f}" y2="{2:.1f}"/>'
    '<text x="{3:.0f}" y="{2:.1f}" dy="3">{4:.2f}</text>'
)
_RELEASE: Final = Markup(
    '<line class="release" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.0f}" y2="{2:.0f}">'
    "<title>{3}</title></line>"
)
_NAME: Final = Markup('<text class="releasename" x="{:.0f}" y="9">{}</text>')
_HINT: Final = Markup(
    '<rect class="hint" x="{:.1f}" y="{:.0f}" width="{:.1f}" height="{:.0f}">'
    "<title>{}</title></rect>"
)


def _padded(low: float, high: float) -> tuple[float, float]:
    """A range of at least 0.1, so that noise does not look like news; never beyond 0 to 1.

    Ratios only: everything that is drawn over time lies between 0 and 1.
    """
    missing = max(0.0, 0.1 - (high - low))
    low, high = low - missing / 2, high + missing / 2
    if high > 1.0:
        low, high = max(0.0, low - (high - 1.0)), 1.0
    if low < 0.0:
        low, high = 0.0, min(1.0, high - low)
    return low, high
