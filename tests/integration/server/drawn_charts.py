"""The charts of a page, read back from its HTML: what is drawn, and what is written beside it."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

from rag_monitor.domain.window import Window

ANY: Final = object()
"""A number that nothing is known of."""
KINDS: Final = {"interval", "spark", "budget", "reliability", "timeline", "plot", "values", ""}
"""Classes of drawings that are read here; the last three are parts of a chart over time."""
_CHART: Final = re.compile(
    r'<div class="chart [^"]*" role="img" aria-label="([^"]*)" data-chart=\'(.*?)\'>'
)
_SVG: Final = re.compile(r"<svg([^>]*)>")
_CLASS: Final = re.compile(r'class="([^"]*)"')
_LABEL: Final = re.compile(r'aria-label="([^"]*)"')
_RANGE: Final = re.compile(r'class="range" x="([\d.]+)" y="1" width="([\d.]+)"')
_DOT: Final = re.compile(r'class="dot" d="M([\d.]+) ')
_COLUMN: Final = re.compile(r"M(\d+) 28v-(\d+)h")
_REST: Final = re.compile(r'class="rest" x="0" y="0" width="([\d.]+)"')
_POINT: Final = re.compile(r"<title>([\d.]+) → ([\d.]+) \(n = (\d+)\)</title>")
_NUMBER: Final = re.compile(r"−?\d[\d,]*(?:\.\d+)?")
_WIDTH: Final = 200.0
_PIXEL: Final = 0.0003
"""Of a bar: tenths of a pixel of 200 are written."""


def figures(text: str) -> list[float]:
    """The numbers of a text as people read it."""
    return [float(one.replace("−", "-").replace(",", "")) for one in _NUMBER.findall(text)]


def kinds(page: str) -> set[str]:
    """Classes of all drawings of a page; every chart over time counts as `plot`."""
    found = (_CLASS.search(attributes) for attributes in _SVG.findall(page))
    return {one[1] if one else "" for one in found}


def drawings(page: str, kind: str) -> Iterator[tuple[str, str]]:
    """Label and content of the drawings of a kind, in their order."""
    for attributes, inside in re.findall(rf'<svg class="{kind}"([^>]*)>(.*?)</svg>', page):
        label = _LABEL.search(attributes)
        yield html.unescape(label[1]) if label else "", inside


@dataclass(frozen=True)
class Course:
    """A chart of values over time."""

    label: str
    told: Mapping[str, Any]
    """What its script reads."""

    @property
    def app(self) -> str:
        """Whose traces are behind it."""
        return parse_qs(urlsplit(self.told["traces"]).query)["app"][0]

    @property
    def windows(self) -> list[Window]:
        """What each point is about."""
        moments = [datetime.fromtimestamp(one, UTC) for one in self.told["starts"]]
        return [Window(*pair) for pair in itertools.pairwise(moments)]

    def line(self, name: str) -> Mapping[str, Any]:
        """The line of that name."""
        (line,) = [one for one in self.told["lines"] if one["name"] == name]
        return dict(line)

    def rows(self) -> list[list[str]]:
        """What the table beneath must say: of each point where there is a value."""
        lines = self.told["lines"]
        said = zip(*(line["said"] for line in lines), strict=True)
        values = zip(*(line["values"] for line in lines), strict=True)
        pairs = zip(said, values, strict=True)
        return [list(texts) for texts, each in pairs if any(one is not None for one in each)]


def courses(page: str) -> list[Course]:
    """Every chart over time, in their order."""
    return [
        # Behind the title come the marks that share a name in the drawing.
        Course(html.unescape(label).split("; ")[0], json.loads(html.unescape(told)))
        for label, told in _CHART.findall(page)
    ]


def tables(page: str) -> dict[str, list[list[str]]]:
    """The cells of the tables beneath charts, by the label of the chart."""
    found = re.findall(
        r'<table class="numbers"><caption class="sr">(.*?)</caption>.*?<tbody>(.*?)</tbody>', page
    )
    return {
        html.unescape(label): [
            [html.unescape(cell) for cell in re.findall(r'<td class="n">(.*?)</td>', row)]
            for row in re.findall(r"<tr>(.*?)</tr>", body)
        ]
        for label, body in found
    }


Bar = tuple[Any, Any, Any]
"""Value, lower and upper end of an interval bar; None: not there."""


def check_bars(page: str, expected: Sequence[Bar]) -> None:
    """Every interval bar of a page says what is expected, in drawing and in words."""
    drawn = list(drawings(page, "interval"))
    assert len(drawn) == len(expected)
    for (label, inside), (value, lower, upper) in zip(drawn, expected, strict=True):
        dot, stretch = _DOT.search(inside), _RANGE.search(inside)
        _check_number(float(dot[1]) / _WIDTH if dot else None, value, label)
        left = float(stretch[1]) / _WIDTH if stretch else None
        _check_number(left, lower, label)
        if left is not None and stretch is not None and upper is not ANY:
            # No range is narrower than two pixels, or it could not be seen.
            right = max(upper, lower + 2 / _WIDTH) if lower is not ANY else upper
            _check_number(left + float(stretch[2]) / _WIDTH, right, label)
        if value is not None:
            scale, near = (100, 0.5) if "%" in label.split(",")[0] else (1, 0.005)
            assert figures(label)[0] == pytest.approx(scale * value, abs=near + 1e-9)


def _check_number(drawn: float | None, told: Any, label: str) -> None:
    if told is not ANY:
        assert drawn == (None if told is None else pytest.approx(told, abs=2 * _PIXEL)), label


def check_spark(label: str, inside: str, totals: Sequence[int], failed: Sequence[int]) -> None:
    """Columns as high as the counts, in whole pixels; the label says the highest."""
    most = max(totals)
    assert figures(label) == [most]
    for path, counts in zip(re.findall(r' d="(.*?)"', inside), (totals, failed), strict=True):
        at = [number for number, count in enumerate(counts) if count]
        columns = [(int(x), int(height)) for x, height in _COLUMN.findall(path)]
        assert [x for x, _ in columns] == [round(number * 120 / len(counts)) for number in at]
        heights = [max(1.5, 27 * counts[number] / most) for number in at]
        assert [height for _, height in columns] == pytest.approx(heights, abs=0.51)


def check_budget(label: str, inside: str, left: float) -> None:
    """What is left as far as the bar goes; overspent, in words alone."""
    rest = _REST.search(inside)
    width = float(rest[1]) / _WIDTH if rest else 0.0
    assert width == pytest.approx(min(1.0, max(0.0, left)), abs=_PIXEL)
    said = 1.0 - left if left < 0.0 else left
    assert figures(label)[0] == pytest.approx(100 * said, abs=0.51)


def reliability(page: str) -> list[tuple[float, float, int]]:
    """Stated and observed share of every point, and on how many marks it rests."""
    return [(float(a), float(b), int(n)) for a, b, n in _POINT.findall(page)]


def timeline(page: str) -> list[str]:
    """Durations in the order of the bars, then that of the mark."""
    (drawn,) = drawings(page, "timeline")
    texts = re.findall(r'<text class="(value|inside|markname)"[^>]*>(.*?)</text>', drawn[1])
    texts.sort(key=lambda one: one[0] == "markname")
    return [html.unescape(text) for _, text in texts]
