"""Charts as inline SVG: no script, no request, colours from the page's own style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from markupsafe import Markup, escape

from rag_monitor.offline.report.model import Histogram
from rag_monitor.statistics.reliability import Reliability

_WIDTH: Final = 240
_HEIGHT: Final = 72
_FLOOR: Final = 56
_SQUARE: Final = 320
_MARGIN: Final = 44


def distribution(histogram: Histogram, mean: float, label: str) -> Markup:
    """Bars of a histogram with a line at the mean."""
    most = max(histogram.counts) or 1
    step = _WIDTH / len(histogram.counts)
    parts = [_open(_WIDTH, _HEIGHT, label, "distribution")]
    for place, count in enumerate(histogram.counts):
        # Square roots keep rare values visible beside a tall bar.
        height = math.sqrt(count / most) * (_FLOOR - 6) if count else 0
        low, high = histogram.edges[place], histogram.edges[place + 1]
        parts.append(
            Markup(
                '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1.5">'
                "<title>{:.2f}–{:.2f}: {}</title></rect>"
            ).format(
                place * step + 0.75,
                _FLOOR - height,
                step - 1.5,
                max(height, 0.75),
                low,
                high,
                count,
            )
        )
    x = _place_of(histogram, mean) * _WIDTH
    parts.append(_line("mean", x, 2, x, _FLOOR))
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        parts.append(
            Markup('<text x="{:.0f}" y="{}" text-anchor="{}">{}</text>').format(
                share * _WIDTH, _HEIGHT - 2, anchor, _edge(histogram, share)
            )
        )
    return Markup("").join([*parts, Markup("</svg>")])


def _edge(histogram: Histogram, share: float) -> str:
    value = histogram.edges[round(share * (len(histogram.edges) - 1))]
    return f"{value:g}"


def _place_of(histogram: Histogram, value: float) -> float:
    """Where a value lies between the first and the last edge, 0 to 1."""
    edges = histogram.edges
    for place, (low, high) in enumerate(pairwise(edges)):
        if value <= high:
            inside = max(0.0, (value - low) / (high - low))
            return (place + inside) / (len(edges) - 1)
    return 1.0


def interval(mean: float, lower: float | None, upper: float | None, label: str) -> Markup:
    """A point with its interval on a scale from 0 to 1."""
    width, middle = 160, 9

    def x(value: float) -> float:
        return 4 + min(1.0, max(0.0, value)) * (width - 8)

    parts = [_open(width, 18, label, "interval")]
    parts.append(
        Markup('<line class="track" x1="4" x2="{}" y1="{}" y2="{}"/>').format(
            width - 4, middle, middle
        )
    )
    if lower is not None and upper is not None:
        parts.append(
            Markup(
                '<rect class="band" x="{:.1f}" y="4" width="{:.1f}" height="10" rx="3"/>'
            ).format(x(lower), max(2.0, x(upper) - x(lower)))
        )
    parts.append(
        Markup('<circle class="point" cx="{:.1f}" cy="{}" r="3.2"/>').format(x(mean), middle)
    )
    return Markup("").join([*parts, Markup("</svg>")])


def reliability(figure: Reliability, stated: str, observed: str, label: str) -> Markup:
    """Stated against observed shares; the area of a point is its number of rows."""
    parts = [_open(_SQUARE + _MARGIN + 12, _SQUARE + _MARGIN + 8, label, "reliability")]
    parts.extend(_grid())
    points = [(_x(b.stated), _y(b.observed)) for b in figure.bins]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(Markup('<polyline class="curve" points="{}"/>').format(path))
    most = max(b.n for b in figure.bins)
    for (x, y), b in zip(points, figure.bins, strict=True):
        parts.append(
            Markup(
                '<line class="gap" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>'
            ).format(x, y, _y(b.stated))
        )
        parts.append(
            Markup(
                '<circle class="point" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>'
                "{:.2f} → {:.2f} (n = {})</title></circle>"
            ).format(x, y, 3.5 + 8 * math.sqrt(b.n / most), b.stated, b.observed, b.n)
        )
    parts.append(
        Markup('<text class="axis" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            _x(0.5), _SQUARE + _MARGIN + 2, stated
        )
    )
    parts.append(
        Markup(
            '<text class="axis" transform="translate(12 {}) rotate(-90)" text-anchor="middle">{}'
            "</text>"
        ).format(_y(0.5), observed)
    )
    return Markup("").join([*parts, Markup("</svg>")])


def _grid() -> Iterator[Markup]:
    for step in range(6):
        value = step / 5
        yield _line("grid", _x(value), _y(0), _x(value), _y(1))
        yield _line("grid", _x(0), _y(value), _x(1), _y(value))
        yield Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{:g}</text>').format(
            _x(value), _y(0) + 15, value
        )
        yield Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:g}</text>').format(
            _x(0) - 6, _y(value) + 4, value
        )
    yield _line("ideal", _x(0), _y(0), _x(1), _y(1))


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        kind, x1, y1, x2, y2
    )


def _x(value: float) -> float:
    return _MARGIN + value * _SQUARE


def _y(value: float) -> float:
    return 8 + (1 - value) * (_SQUARE - 8)


def _open(width: float, height: float, label: str, kind: str) -> Markup:
    return Markup('<svg class="chart {}" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        kind, width, height, escape(label)
    )
