"""Values over time: lines or bars, intervals, and marks where something happened.

A chart is drawn here and can be read without a script. Its letters keep their size whatever its
width: lines are stretched, words are not. What it shows also stands in its `data-chart`, from which
`charts.js` tells the numbers under the pointer; nothing is read off the drawing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from markupsafe import Markup

from rag_monitor.charts import svg
from rag_monitor.charts.scale import Scale
from rag_monitor.charts.time_axis import TimeAxis
from rag_monitor.domain.window import Window

_ACROSS: Final = 1000.0
"""Units across the part of a drawing that is stretched."""
_LETTER: Final = 7.2
"""Pixels that a letter needs, at most about, where letters are 12 pixels high."""
_LEAST_LETTERS: Final = 5
"""Marks that stand closer than so many share one name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What happened inside the window: a release appeared, another judge took over."""

    at: datetime
    name: str
    kind: str = "release"
    """Style class: `release`, `break` or `alert`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series of a chart."""

    name: str
    values: Sequence[float | None]
    """One per window of the chart; None is a gap."""
    texts: Sequence[str]
    """The same as people read them, with what qualifies them."""
    bounds: Sequence[tuple[float | None, float | None]] = ()
    """The interval of each value; empty: there are none."""
    kind: str = "first"
    """Style class: `first`, `second` or `bad`."""
    bars: bool = False
    """For counts, which are nothing between two points."""

    def runs(self) -> list[list[int]]:
        """Numbers of values without a gap between them."""
        runs: list[list[int]] = [[]]
        for number, value in enumerate(self.values):
            if value is not None:
                runs[-1].append(number)
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeChart:
    """What is to be drawn."""

    label: str
    """What it shows, for those who cannot see it."""
    windows: Sequence[Window]
    """One per point, oldest first, each beginning where the one before ends."""
    lines: Sequence[Line]
    scale: Callable[[Sequence[float]], Scale]
    axis: TimeAxis
    marks: Sequence[Mark] = ()
    traces: str = ""
    """Address of the traces behind it, to which `from` and `to` of a point are added."""

    @property
    def window(self) -> Window:
        """From the first point to the last."""
        return Window(self.windows[0].start, self.windows[-1].end)

    def numbers(self) -> list[float]:
        """Every value and every end of an interval."""
        ends = [end for line in self.lines for pair in line.bounds for end in pair]
        values = [value for line in self.lines for value in line.values]
        return [number for number in (*values, *ends) if number is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The height of a chart in pixels; it is as wide as its place."""

    height: float
    width: float
    """In pixels, at the least: what is written must not run into one another there."""
    ticks: int
    """Labels on the time axis, at most."""
    top: float = 18.0
    """Room for the names of marks."""
    bottom: float = 18.0
    name: str = "large"
    """Style class."""

    @property
    def floor(self) -> float:
        """Where the lowest value lies."""
        return self.height - self.bottom


SMALL: Final = Frame(height=118, width=190, ticks=3, name="small")
WIDE: Final = Frame(height=118, width=250, ticks=5, name="small")
LARGE: Final = Frame(height=190, width=250, ticks=5)


def drawn(chart: TimeChart, frame: Frame = SMALL) -> Markup:
    """The chart; empty where there is no value. A gap in the data is a gap in the line."""
    numbers = chart.numbers()
    if not numbers:
        return Markup("")
    return _Drawing(chart, frame, chart.scale(numbers)).whole()


@dataclass(frozen=True, slots=True)
class _Drawing:
    chart: TimeChart
    frame: Frame
    scale: Scale

    def whole(self) -> Markup:
        names = self.names(self.groups())
        parts = [*self.levels(), self.stretched(), *names, *self.times(), *self.dots()]
        return _WHOLE.format(
            self.frame.name,
            self.label(),
            _attribute(self.data()),
            self.values(),
            self.frame.height,
            svg.joined(parts),
        )

    def data(self) -> dict[str, object]:
        """What the script reads, and everybody who wants the numbers that were drawn."""
        chart = self.chart
        starts = [round(window.start.timestamp()) for window in chart.windows]
        return {
            "starts": [*starts, round(chart.window.end.timestamp())],
            "times": [chart.axis.between(window) for window in chart.windows],
            "lines": [
                {
                    "name": line.name,
                    "kind": line.kind,
                    "values": [None if v is None else round(v, 6) for v in line.values],
                    "said": list(line.texts),
                }
                for line in chart.lines
            ],
            "marks": [[round(mark.at.timestamp()), mark.name] for mark in chart.marks],
            "range": [self.scale.low, self.scale.high],
            "plot": [self.frame.top, self.frame.floor],
            "traces": chart.traces,
        }

    def across(self, moment: datetime) -> float:
        window = self.chart.window
        return 100 * ((moment - window.start) / window.length)

    def middle(self, number: int) -> float:
        window = self.chart.windows[number]
        return self.across(window.start + window.length / 2)

    def y(self, value: float) -> float:
        return self.frame.floor - self.scale.share(value) * (self.frame.floor - self.frame.top)

    def values(self) -> Markup:
        """The names of the levels, beside the plot."""
        # A percent sign is as wide as one and a half digits.
        letters = max(len(label) + 0.5 * label.count("%") for _, label in self.scale.ticks)
        width = 8 + _LETTER * letters
        texts = [_VALUE.format(width - 6, self.y(v) + 4, label) for v, label in self.scale.ticks]
        return _VALUES.format(width, self.frame.height, svg.joined(texts))

    def levels(self) -> list[Markup]:
        return [_LEVEL.format(self.y(value)) for value, _ in self.scale.ticks]

    def times(self) -> list[Markup]:
        window = self.chart.window
        texts = []
        for moment in self.moments():
            anchor = {window.start: "start", window.end: "end"}.get(moment, "middle")
            label = self.chart.axis.label(moment)
            texts.append(_TIME.format(self.across(moment), self.frame.height - 3, anchor, label))
        return texts

    def moments(self) -> list[datetime]:
        """Both ends of the window, and round times between them that leave the ends room."""
        start, end = self.chart.window.start, self.chart.window.end
        length = self.chart.window.length
        most = self.frame.ticks - 1
        if most < 2:
            return [start, end]
        room = length * (1.65 * 5 * _LETTER / self.frame.width)
        apart = max(length / (most + 0.5), length * (1.3 * 5 * _LETTER / self.frame.width))
        return [start, *self.chart.axis.round_times(start + room, end - room, apart), end]

    def marks(self) -> list[Markup]:
        """A line where each happened, those of one kind in one path."""
        paths: dict[str, str] = {}
        for mark in self.chart.marks:
            at = _ACROSS / 100 * self.across(mark.at)
            line = f"M{at:.0f},{self.frame.top - 2:g}V{self.frame.floor:g}"
            paths[mark.kind] = paths.get(mark.kind, "") + line
        return [_MARKS.format(kind, path) for kind, path in paths.items()]

    def groups(self) -> list[list[Mark]]:
        """Marks, oldest first; those that leave no room for a name between them stand together.

        The first mark of a group has room for a name to its right; or, where the chart ends, to its
        left beside the name of the group before.
        """
        room = 100 * _LETTER * _LEAST_LETTERS / self.frame.width
        groups: list[list[Mark]] = []
        for mark in sorted(self.chart.marks, key=lambda mark: mark.at):
            at = self.across(mark.at)
            apart = room if at <= 100 - room else 2 * room
            if groups and at - self.across(groups[-1][0].at) < apart:
                groups[-1].append(mark)
            else:
                groups.append([mark])
        return groups

    def names(self, groups: Sequence[Sequence[Mark]]) -> list[Markup]:
        """Of each group the newest, and how many more there are, to the right of its first mark.

        The last stands to the left where that leaves it more room: half of the way to the one
        before.
        """
        if not groups:
            return []
        starts = [self.across(group[0].at) for group in groups]
        ends = [*starts[1:], 100.0]
        sides = ["after"] * len(groups)
        last = starts[-1]
        needed = 100 * _LETTER * len(groups[-1][-1].name) / self.frame.width
        halfway = (starts[-2] + last) / 2 if len(groups) > 1 else 0.0
        if 100 - last < min(needed, last - halfway):
            sides[-1], starts[-1], ends[-2:] = "before", halfway, [halfway, last][-len(groups) :]
        return [
            _NAME.format(
                group[-1].kind,
                side,
                start,
                end - start,
                group[-1].name,
                _MORE.format(len(group) - 1) if len(group) > 1 else "",
                _TITLE.format("\n".join(self.dated(group))),
            )
            for group, side, start, end in zip(groups, sides, starts, ends, strict=True)
        ]

    def dated(self, marks: Sequence[Mark]) -> list[str]:
        """When each happened, and what it is."""
        return [f"{self.chart.axis.exactly(mark.at)} {mark.name}" for mark in marks]

    def label(self) -> str:
        """What the chart shows, and every mark whose name is not written."""
        together = [group for group in self.groups() if len(group) > 1]
        others = [one for group in together for one in self.dated(group)]
        return f"{self.chart.label}; {', '.join(others)}" if others else self.chart.label

    def stretched(self) -> Markup:
        """Lines, bands and marks, which are as wide as the chart."""
        parts = [part for line in self.chart.lines for part in self.line(line)]
        parts += self.marks()
        return _STRETCHED.format(self.frame.height, svg.joined(parts))

    def line(self, line: Line) -> list[Markup]:
        if line.bars:
            return [self.bar(line, n) for n, value in enumerate(line.values) if value]
        parts = []
        for run in line.runs():
            parts.append(self.band(line, run))
            if len(run) > 1:
                at = " ".join(self.at(n, line.values[n]) for n in run)
                parts.append(_LINE.format(line.kind, at))
        return parts

    def bar(self, line: Line, number: int) -> Markup:
        window = self.chart.windows[number]
        start, end = (_ACROSS / 100 * self.across(at) for at in (window.start, window.end))
        gap = 0.15 * (end - start)
        top = self.y(line.values[number] or 0.0)
        return _BAR.format(
            line.kind, start + gap / 2, top, end - start - gap, max(1.0, self.frame.floor - top)
        )

    def band(self, line: Line, run: Sequence[int]) -> Markup:
        bounded = [n for n in run if line.bounds and None not in line.bounds[n]]
        if not bounded:
            return Markup("")
        there = [self.at(n, line.bounds[n][1]) for n in bounded]
        back = [self.at(n, line.bounds[n][0]) for n in reversed(bounded)]
        if len(bounded) == 1:  # one point has no width: a whisker
            return _WHISKER.format(line.kind, there[0], back[0])
        return _BAND.format(line.kind, " ".join(there + back))

    def dots(self) -> list[Markup]:
        """Where a line ends, and values that stand alone."""
        return [
            _DOT.format(line.kind, self.middle(run[-1]), self.y(line.values[run[-1]] or 0.0))
            for line in self.chart.lines
            if not line.bars
            for run in line.runs()
        ]

    def at(self, number: int, value: float | None) -> str:
        return f"{_ACROSS / 100 * self.middle(number):.0f},{self.y(value or 0.0):.1f}"


def numbers_table(chart: TimeChart, time: str) -> Markup:
    """The numbers of the chart for those who read tables; each time leads to its traces.

    The filters of the traces stand once, however many rows there are: an address in each would be
    most of the page.

    Args:
        chart: The chart.
        time: Heading of the column of times.
    """
    heads = svg.joined(_HEAD.format(line.name) for line in chart.lines)
    rows = []
    for number, window in enumerate(chart.windows):
        if all(line.values[number] is None for line in chart.lines):
            continue
        cells = svg.joined(_CELL.format(line.texts[number]) for line in chart.lines)
        when = Markup.escape(chart.axis.between(window))
        if chart.traces:
            when = _TO_TRACES.format(during(window), when)
        rows.append(_ROW.format(when, cells))
    table = _TABLE.format(chart.label, time, heads, svg.joined(rows))
    if not chart.traces:
        return table
    address = urlsplit(chart.traces)
    filters = svg.joined(_FILTER.format(*pair) for pair in parse_qsl(address.query))
    return _FORM.format(address.path, filters, table)


def during(window: Window) -> str:
    """A window in an address: its ends as Unix seconds, which the list of traces reads."""
    return "-".join(str(round(end.timestamp())) for end in (window.start, window.end))


def _attribute(data: object) -> Markup:
    """JSON for an attribute in single quotes; escaping every double quote would double it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter, name in (("&", "&amp;"), ("'", "&#39;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(letter, name)
    return Markup(text)  # noqa: S704 - escaped above


_WHOLE: Final = Markup(
    '<div class="chart {}" role="img" aria-label="{}" data-chart=\'{}\'>{}'
    '<svg class="plot" height="{:g}" aria-hidden="true">{}</svg></div>'
)
_VALUES: Final = Markup(
    '<svg class="values" width="{:.0f}" height="{:g}" aria-hidden="true">{}</svg>'
)
_VALUE: Final = Markup('<text x="{:.0f}" y="{:.1f}" text-anchor="end">{}</text>')
_LEVEL: Final = Markup('<line class="level" x2="100%" y1="{0:.1f}" y2="{0:.1f}"/>')
_TIME: Final = Markup('<text x="{:.2f}%" y="{:g}" text-anchor="{}">{}</text>')
_MARKS: Final = Markup('<path class="mark {}" d="{}"/>')
_NAME: Final = Markup(
    '<foreignObject x="{2:.2f}%" width="{3:.2f}%" height="16">'
    '<div class="name of-{0} {1}"{6}><span>{4}</span>{5}</div></foreignObject>'
)
_MORE: Final = Markup("<b>+{}</b>")
_TITLE: Final = Markup(' title="{}"')
_STRETCHED: Final = Markup(
    '<svg viewBox="0 0 1000 {0:g}" width="100%" height="{0:g}" preserveAspectRatio="none">{1}</svg>'
)
_LINE: Final = Markup('<polyline class="line {}" points="{}"/>')
_BAND: Final = Markup('<polygon class="band {}" points="{}"/>')
_WHISKER: Final = Markup('<polyline class="whisker {}" points="{} {}"/>')
_BAR: Final = Markup('<rect class="bar {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
_DOT: Final = Markup('<circle class="dot {}" cx="{:.2f}%" cy="{:.1f}" r="3"/>')
_HEAD: Final = Markup('<th scope="col" class="n">{}</th>')
_CELL: Final = Markup('<td class="n">{}</td>')
_ROW: Final = Markup('<tr><th scope="row">{}</th>{}</tr>')
_TO_TRACES: Final = Markup('<button name="during" value="{}">{}</button>')
_FILTER: Final = Markup('<input type="hidden" name="{}" value="{}">')
_FORM: Final = Markup('<form class="during" action="{}">{}{}</form>')
_TABLE: Final = Markup(
    '<table class="numbers"><caption class="sr">{}</caption>'
    '<thead><tr><th scope="col">{}</th>{}</tr></thead><tbody>{}</tbody></table>'
)
