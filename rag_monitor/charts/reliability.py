"""The reliability diagram: what a judge claimed against what people said."""

from __future__ import annotations

from collections.abc import Sequence
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
