"""Bars without axes that fit into a line of a table: what happened when, at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

_WIDTH: Final = 120
_HEIGHT: Final = 28
_WHOLE: Final = Markup(
    '<svg class="spark" viewBox="0 0 120 28" role="img" aria-label="{}">'
    '<path class="bar first" d="{}"/><path class="bar bad" d="{}"/></svg>'
)


def spark(totals: Sequence[int], bad: Sequence[int], label: str) -> Markup:
    """One bar per step, and before it the bad part of it; empty where nothing happened.

    Args:
        totals: Things per step, oldest first.
        bad: Those of them that went wrong.
        label: What it shows, for those who cannot see it.
    """
    most = max(totals, default=0)
    if not most:
        return Markup("")
    return _WHOLE.format(label, _bars(totals, most), _bars(bad, most))


def _bars(counts: Sequence[int], most: int) -> str:
    """A path: shorter than so many rectangles, of which a page of many apps has thousands."""
    step = _WIDTH / len(counts)
    bars = []
    for number, count in enumerate(counts):
        if count:
            height = max(1.5, (_HEIGHT - 1) * count / most)
            bars.append(f"M{number * step:.0f} 28v-{height:.0f}h{max(1.0, step - 1):.0f}V28")
    return "".join(bars)
