"""The reliability diagram: what a judge claimed against what people said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

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
        parts.append(_ACROSS.format(_x(share), _TOP + _SIDE + 13, f"{share:g}"))
        parts.append(_UP.format(_LEFT - 5, _y(share) + 4, f"{share:g}"))
    for found in bins:
        x = _x(found.stated)
        parts.append(_SPREAD.format(x, _y(found.lower), _y(found.upper)))
        parts.append(
            _POINT.format(
                x,
                _y(found.observed),
                4 + min(5.0, found.n / 20),
                f"{found.stated:.2f} → {found.observed:.2f} (n = {found.n})",
            )
        )
    parts.append(_ACROSS.format(_x(0.5), _TOP + _SIDE + 27, across))
    parts.append(_TURNED.format(10, _y(0.5), up))
    return Markup(
        '<svg class="reliability" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">{}</svg>'
    ).format(_LEFT + _SIDE + 10, _TOP + _SIDE + 32, label, Markup("").join(parts))


def _x(share: float) -> float:
    return _LEFT + _SIDE * share


def _y(share: float) -> float:
    return _TOP + _SIDE * (1 - share)


_ACROSS: Final = Markup('<text x="{:.0f}" y="{:.0f}" text-anchor="middle">{}</text>')
_UP: Final = Markup('<text x="{:.0f}" y="{:.0f}" text-anchor="end">{}</text>')
_TURNED: Final = Markup(
    '<text x="{0}" y="{1}" text-anchor="middle" transform="rotate(-90 {0} {1})">{2}</text>'
)
_SPREAD: Final = Markup(
    '<line class="spread" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>'
)
_POINT: Final = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>')
