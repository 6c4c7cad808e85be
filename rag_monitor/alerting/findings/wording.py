"""Numbers and stretches of time in the sentences of findings."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Final

from rag_monitor.i18n import Message, msgid

_BASELINES: Final = {
    "previous_window": Message("the window before"),
    "last_week": Message("the same hours last week"),
    "previous_release": Message("the release before"),
}

_UTC_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d) UTC")


def in_zone(text: str, zone: tzinfo) -> str:
    """A sentence with the times that findings give in UTC told in a zone, which is named."""

    def told(found: re.Match[str]) -> str:
        try:
            moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
            return f"{moment.astimezone(zone):%Y-%m-%d %H:%M} {zone}"
        except (ValueError, OverflowError):  # no time: part of a name that came with a trace
            return found[0]

    return _UTC_TIME.sub(told, text)


def share(value: float | None) -> str:
    """A score or share with three decimals at most; the minus is a minus."""
    if value is None:
        return "?"
    return f"{value:.3f}".rstrip("0").rstrip(".").replace("-", "−")


def signed(value: float | None) -> str:
    """A difference with its sign."""
    if value is None:
        return "?"
    return ("+" if value >= 0 else "−") + share(abs(value))


def interval(lower: float | None, upper: float | None) -> Message:
    """Both ends."""
    if lower is None or upper is None:
        return Message("withheld")
    return Message("{lower} to {upper}", lower=share(lower), upper=share(upper))


def measure(value: float) -> str:
    """A number of any size: four digits, and never a power of ten."""
    short = float(f"{value:.4g}")
    return f"{short:,.0f}" if short >= 10_000 else f"{short:.4g}"


def percent(level: float) -> str:
    """A confidence level."""
    return f"{level * 100:g}%"


def span(seconds: float) -> Message:
    """A stretch of time in its largest whole unit."""
    for size, unit in (
        (86_400, msgid("{n} d")),
        (3600, msgid("{n} h")),
        (60, msgid("{n} min")),
    ):
        if seconds >= size and seconds % size == 0:
            return Message(unit, n=f"{seconds // size:.0f}")
    return Message("{n} s", n=f"{seconds:g}")


def traces(count: int) -> Message:
    """So many traces."""
    return Message.counted("{n} trace", "{n} traces", n=count)


def milliseconds(value: float | None) -> str:
    """A latency; seconds from one second on."""
    if value is None:
        return "?"
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms"


def latencies(lower: float, upper: float | None) -> Message:
    """Both ends of an interval, or the one it has."""
    if upper is None:
        return Message("from {lower}, no upper end", lower=milliseconds(lower))
    return Message("{lower} to {upper}", lower=milliseconds(lower), upper=milliseconds(upper))


def baseline_name(kind: str) -> Message:
    """What the window is compared with."""
    return _BASELINES[kind]
