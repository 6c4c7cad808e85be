"""The elements of SVG that charts are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from markupsafe import Markup

_PICTURE: Final = Markup(
    '<svg class="{}" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">{}</svg>'
)
_VERTICAL: Final = Markup('<line class="{0}" x1="{1:.1f}" x2="{1:.1f}" y1="{2:.1f}" y2="{3:.1f}"/>')
_DOT: Final = Markup('<path class="dot" d="M{:.1f} {:.1f}h.01"/>')
_TEXT: Final = Markup('<text x="{:.0f}" y="{:.0f}" text-anchor="{}">{}</text>')


def picture(kind: str, width: float, height: float, label: str, parts: Iterable[Markup]) -> Markup:
    """A whole chart.

    Args:
        kind: Its class, `trend` or another.
        width: In its own units; the page scales it.
        height: Likewise.
        label: What it shows, for those who cannot see it.
        parts: Its elements, the lowest first.
    """
    return _PICTURE.format(kind, width, height, label, joined(parts))


def joined(parts: Iterable[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup("").join(parts)


def vertical(kind: str, x: float, top: float, bottom: float) -> Markup:
    """A line from `top` down to `bottom`."""
    return _VERTICAL.format(kind, x, top, bottom)


def dot(x: float, y: float) -> Markup:
    """A round dot that stays round when the chart is stretched."""
    return _DOT.format(x, y)


def text(x: float, y: float, anchor: str, words: str) -> Markup:
    """Words whose `start`, `middle` or `end` is at `x`."""
    return _TEXT.format(x, y, anchor, words)


def clamp(value: float) -> float:
    """A share within 0 to 1."""
    return min(1.0, max(0.0, value))
