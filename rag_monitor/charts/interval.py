"""A value with its confidence interval on a scale from 0 to 1."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from rag_monitor.charts import svg

_WIDTH: Final = 200
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
        left, right = svg.clamp(lower) * _WIDTH, svg.clamp(upper) * _WIDTH
        parts.append(_RANGE.format(left, max(2.0, right - left)))
    role = Markup('aria-hidden="true"')
    if value is not None:
        parts.append(svg.dot(svg.clamp(value) * _WIDTH, 5))
        role = Markup('role="img" aria-label="{}"').format(label)
    return _INTERVAL.format(role, svg.joined(parts))
