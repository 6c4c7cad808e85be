"""How lengths of time are written on axes and in tables."""

from __future__ import annotations

from typing import Final

from rag_monitor.i18n import msgid

_LONG_MS: Final = 600_000.0
"""From here on seconds say little."""


def milliseconds(value: float | None) -> str:
    """A duration as people read it: 0.25 ms, 84 ms, 1.24 s, 14 min, 6 h 05 min."""
    if value is None:
        return "–"
    if value < 9.95:
        return f"{round(value, 2):.2g} ms"
    if value < 1000:
        return f"{value:.0f} ms"
    if value < _LONG_MS:
        return f"{value / 1000:.2f} s" if value < 10_000 else f"{value / 1000:.1f} s"
    minutes = round(value / 60_000)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02} min"


def latency_interval(lower: float | None, upper: float | None) -> str:
    """The interval of a latency: `84–97 ms`, `≥ 1.24 s` where it has no upper end; "": none."""
    if lower is None:
        return "" if upper is None else f"≤ {milliseconds(upper)}"
    if upper is None:
        return f"≥ {milliseconds(lower)}"
    (least, unit), (most, its) = (milliseconds(end).rsplit(" ", 1) for end in (lower, upper))
    return f"{least}–{most} {unit}" if unit == its else f"{least} {unit} – {most} {its}"


def duration(seconds: float) -> tuple[float, str]:
    """A length of time in its largest whole unit, and the unit as a text to be translated."""
    for size, unit in ((86_400, msgid("{n} d")), (3600, msgid("{n} h")), (60, msgid("{n} min"))):
        if seconds >= size and seconds % size == 0:
            return seconds / size, unit
    return seconds, msgid("{n} s")
