"""How the values of a metric are spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from rag_monitor.charts import svg

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
