"""Charts of scores: the reliability diagram, a value with its interval, how values are spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from rag_monitor.charts import svg
from rag_monitor.statistics.reliability import ReliabilityBin

_SIDE: Final = 200.0
_LEFT: Final = 42.0
_TOP: Final = 8.0


def reliability(bins: Sequence[ReliabilityBin], label: str, across: str, up: str) -> Markup:
    """One dot per bin with its interval; on the diagonal the judge's probabilities are honest."""
    parts = [
        Markup('<rect class="frame" x="{}" y="{}" width="{}" height="{}"/>').format(
            _LEFT, _TOP, _SIDE, _SIDE
        ),
        Markup('<line class="diagonal" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            _x(0), _y(0), _x(1), _y(1)
        ),
    ]
    for share in (0.0, 0.5, 1.0):
        parts.append(svg.text(_x(share), _TOP + _SIDE + 13, "middle", f"{share:g}"))
        parts.append(svg.text(_LEFT - 5, _y(share) + 4, "end", f"{share:g}"))
    for one in bins:
        x = _x(one.stated)
        parts.append(svg.vertical("spread", x, _y(one.lower), _y(one.upper)))
        parts.append(
            _POINT.format(
                x,
                _y(one.observed),
                4 + min(5.0, one.n / 20),
                f"{one.stated:.2f} → {one.observed:.2f} (n = {one.n})",
            )
        )
    parts.append(svg.text(_x(0.5), _TOP + _SIDE + 27, "middle", across))
    parts.append(_TURNED.format(10, _y(0.5), up))
    return svg.picture("reliability", _LEFT + _SIDE + 10, _TOP + _SIDE + 32, label, parts)


def _x(share: float) -> float:
    return _LEFT + _SIDE * share


def _y(share: float) -> float:
    return _TOP + _SIDE * (1 - share)


_TURNED: Final = Markup(
    '<text x="{0}" y="{1}" text-anchor="middle" transform="rotate(-90 {0} {1})">{2}</text>'
)
_POINT: Final = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>')


_TRACK: Final = 200
_RANGE: Final = Markup('<rect class="range" x="{:.1f}" y="1" width="{:.1f}" height="8"/>')
_INTERVAL: Final = Markup(
    '<svg class="interval" viewBox="0 0 200 10" preserveAspectRatio="none" {}>{}</svg>'
)


def interval_bar(
    value: float | None, lower: float | None, upper: float | None, label: str
) -> Markup:
    """A value from 0 to 1 on a track, with its interval around it."""
    parts = [Markup('<rect class="track" x="0" y="4" width="200" height="2"/>')]
    if lower is not None and upper is not None:
        left, right = svg.clamp(lower) * _TRACK, svg.clamp(upper) * _TRACK
        parts.append(_RANGE.format(left, max(2.0, right - left)))
    role = Markup('aria-hidden="true"')
    if value is not None:
        parts.append(svg.dot(svg.clamp(value) * _TRACK, 5))
        role = Markup('role="img" aria-label="{}"').format(label)
    return _INTERVAL.format(role, svg.joined(parts))


_WIDTH: Final = 240
_HEIGHT: Final = 72
_FLOOR: Final = 56
_BAR: Final = Markup(
    '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1.5">'
    "<title>{:.2f}–{:.2f}: {}</title></rect>"
)


def histogram(edges: Sequence[float], counts: Sequence[int], mean: float, label: str) -> Markup:
    """Bars with a line at the mean.

    Args:
        edges: Of the bars, one more than `counts`, in rising order.
        counts: Values in each bar.
        mean: Of all values.
        label: What the chart shows, for those who cannot see it.
    """
    most = max(counts) or 1
    step = _WIDTH / len(counts)
    parts = []
    for place, count in enumerate(counts):
        # Square roots keep rare values visible beside a tall bar.
        height = math.sqrt(count / most) * (_FLOOR - 6) if count else 0
        bar = (place * step + 0.75, _FLOOR - height, step - 1.5, max(height, 0.75))
        parts.append(_BAR.format(*bar, edges[place], edges[place + 1], count))
    parts.append(svg.vertical("mean", _share_of(edges, mean) * _WIDTH, 2, _FLOOR))
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        edge = edges[round(share * (len(edges) - 1))]
        parts.append(svg.text(share * _WIDTH, _HEIGHT - 2, anchor, f"{edge:g}"))
    return svg.picture("chart distribution", _WIDTH, _HEIGHT, label, parts)


def _share_of(edges: Sequence[float], value: float) -> float:
    """Where a value lies between the first and the last edge, 0 to 1."""
    for place, (low, high) in enumerate(pairwise(edges)):
        if value <= high:
            inside = max(0.0, (value - low) / (high - low))
            return (place + inside) / (len(edges) - 1)
    return 1.0
