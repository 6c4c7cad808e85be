"""How much of an error budget is left, as a bar."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from rag_monitor.charts import svg

_WIDTH: Final = 200
_BAR: Final = Markup(
    '<svg class="budget" viewBox="0 0 200 14" preserveAspectRatio="none" role="img" '
    'aria-label="{}">{}</svg>'
)
_TRACK: Final = Markup('<rect class="track" x="0.5" y="0.5" width="199" height="13"/>')
_REST: Final = Markup('<rect class="rest" x="0" y="0" width="{:.1f}" height="14"/>')
_OVER: Final = Markup('<line class="over" x1="0" x2="200" y1="7" y2="7"/>')


def budget_bar(left: float, label: str) -> Markup:
    """A frame that is filled as far as there is budget; a dashed line where it is overspent.

    Args:
        left: Share of the budget; below 0 when it is overspent.
        label: The same in words, for those who cannot see it.
    """
    parts = [_REST.format(svg.clamp(left) * _WIDTH) if left > 0.0 else Markup(""), _TRACK]
    if left < 0.0:
        parts.append(_OVER)
    return _BAR.format(label, svg.joined(parts))
