"""Durations: how they are written, and when the steps of a trace ran, as bars over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from rag_monitor.charts import svg
from rag_monitor.charts.scale import durations
from rag_monitor.domain.trace import Trace
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


def milliseconds_change(value: float) -> str:
    """A difference of durations with its sign: `+84 ms`, `−1.24 s`."""
    size = milliseconds(abs(value))
    if size.startswith("0 "):
        return size
    return f"{'+' if value > 0 else '−'}{size}"


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


_BAR: Final = Markup(
    '<text class="name" x="0" y="{}">{}</text>'
    '<rect class="bar {}" x="{:.1f}" y="{}" width="{:.1f}" height="18" rx="4"/>'
)
_VALUE: Final = Markup('<text class="{}" x="{:.1f}" y="{}" text-anchor="{}">{}</text>')
_MARK: Final = Markup(
    '<line class="mark" x1="{0:.1f}" x2="{0:.1f}" y1="16" y2="{1}"/>'
    '<text class="markname" x="{0:.1f}" y="11" text-anchor="{2}">{3}</text>'
)
_GRID: Final = Markup(
    '<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="18" y2="{1}"/>'
    '<text class="tick" x="{0:.1f}" y="{2}" text-anchor="middle">{3}</text>'
)


@dataclass(frozen=True, slots=True)
class Phase:
    """One bar of a timeline, in milliseconds from the question."""

    name: str
    start: float
    end: float
    kind: str
    """Style class: `retrieval`, `generation` or `whole`."""
    reported_ms: float
    """Its length as it was reported, where the bar had to be cut to fit the whole."""


def phases_of(trace: Trace, translate: Callable[[str], str]) -> list[Phase]:
    """Retrieval and generation as far as the timings place them.

    Generation ends with the answer; retrieval ends where generation begins.
    """
    timings = trace.timings
    end = timings.end_to_end_ms
    if end is None:
        return []
    phases = [Phase(translate("End to end"), 0.0, end, "whole", end)]
    turn = end if timings.generation_ms is None else max(0.0, end - timings.generation_ms)
    if timings.retrieval_ms is not None:
        start = max(0.0, turn - timings.retrieval_ms)
        phases.append(
            Phase(
                translate("Retrieval"), start, turn, "retrieval", reported_ms=timings.retrieval_ms
            )
        )
    if timings.generation_ms is not None:
        phases.append(
            Phase(
                translate("Generation"), turn, end, "generation", reported_ms=timings.generation_ms
            )
        )
    return phases


_WIDTH: Final = 420
_LEFT: Final = 88.0
_SPAN: Final = 312.0
_ROW: Final = 30
_TOP: Final = 22


def timeline(
    phases: Sequence[Phase], first_byte_ms: float | None, first_byte_label: str, label: str
) -> Markup:
    """Bars over time, one row per phase, with a mark where the first byte left."""
    if not phases:
        return Markup("")
    total = max(phase.end for phase in phases) or 1.0
    bottom = _TOP + _ROW * len(phases)
    ticks = [tick for tick in durations([total]).ticks if tick[0] <= total]
    parts = [_gridline(_LEFT + _SPAN * at / total, bottom, text) for at, text in ticks]
    parts += [_bar(phase, _TOP + number * _ROW, total) for number, phase in enumerate(phases)]
    if first_byte_ms is not None and first_byte_ms <= total:
        parts.append(
            _mark(
                first_byte_ms / total, bottom, f"{first_byte_label} {milliseconds(first_byte_ms)}"
            )
        )
    return svg.picture("timeline", _WIDTH, bottom + 18, label, parts)


def _bar(phase: Phase, y: int, total: float) -> Markup:
    x = _LEFT + _SPAN * phase.start / total
    width = max(2.0, _SPAN * (phase.end - phase.start) / total)
    length = milliseconds(phase.reported_ms)
    parts = _BAR.format(y + 17, phase.name, phase.kind, x, y + 4, width)
    if width > 70:
        return parts + _VALUE.format("inside", x + width - 8, y + 17, "end", length)
    if x > _LEFT + 42:
        return parts + _VALUE.format("value", x - 6, y + 17, "end", length)
    return parts + _VALUE.format("value", x + width + 6, y + 17, "start", length)


def _mark(share: float, bottom: int, text: str) -> Markup:
    x = _LEFT + _SPAN * share
    anchor = "start" if share < 0.3 else "end" if share > 0.7 else "middle"
    return _MARK.format(x, bottom, anchor, text)


def _gridline(x: float, bottom: int, text: str) -> Markup:
    return _GRID.format(x, bottom, bottom + 14, text)
