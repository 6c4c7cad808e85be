"""Numbers and stretches of time as both languages write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Final

_BASELINES: Final = {
    "previous_window": ("the window before", "上一窗口"),
    "last_week": ("the same hours last week", "上周同一时段"),
    "previous_release": ("the release before", "上一版本"),
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


def interval(lower: float | None, upper: float | None) -> str:
    """Both ends."""
    return "withheld" if lower is None or upper is None else f"{share(lower)} to {share(upper)}"


def interval_zh(lower: float | None, upper: float | None) -> str:
    """Both ends, in Chinese."""
    return "未给出" if lower is None or upper is None else f"{share(lower)} 至 {share(upper)}"


def measure(value: float) -> str:
    """A number of any size: four digits, and never a power of ten."""
    short = float(f"{value:.4g}")
    return f"{short:,.0f}" if short >= 10_000 else f"{short:.4g}"


def percent(level: float) -> str:
    """A confidence level."""
    return f"{level * 100:g}%"


def span(seconds: float) -> str:
    """A stretch of time in its largest whole unit."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:g} s"


def span_zh(seconds: float) -> str:
    """A stretch of time in Chinese."""
    for size, unit in ((86_400, "天"), (3600, "小时"), (60, "分钟")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:g} 秒"


def traces(count: int) -> str:
    """So many traces, in English."""
    return "1 trace" if count == 1 else f"{count} traces"


def milliseconds(value: float | None) -> str:
    """A latency; seconds from one second on."""
    if value is None:
        return "?"
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms"


def latencies(lower: float, upper: float | None) -> str:
    """Both ends of an interval, or the one it has."""
    if upper is None:
        return f"from {milliseconds(lower)}, no upper end"
    return f"{milliseconds(lower)} to {milliseconds(upper)}"


def latencies_zh(lower: float, upper: float | None) -> str:
    """Both ends of an interval, or the one it has, in Chinese."""
    if upper is None:
        return f"不低于 {milliseconds(lower)}，无上限"
    return f"{milliseconds(lower)} 至 {milliseconds(upper)}"


def baseline_name(kind: str) -> tuple[str, str]:
    """What the window is compared with, in English and Chinese."""
    return _BASELINES[kind]
