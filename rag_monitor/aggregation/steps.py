"""A window cut into steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

from rag_monitor.domain.rollup import Rollup
from rag_monitor.domain.window import Window


def steps(window: Window, step: timedelta) -> list[Window]:
    """The window cut into steps from its start; the last one ends with the window."""
    if step <= timedelta(0):
        raise ValueError("a step must be longer than nothing")
    parts: list[Window] = []
    start = window.start
    while start < window.end:
        parts.append(Window(start, min(window.end, start + step)))
        start += step
    return parts


def step_count(window: Window, step: timedelta) -> int:
    """So many `steps` the window has."""
    return -(-window.length // step)


def by_step(rows: Sequence[Rollup], window: Window, step: timedelta) -> dict[int, list[Rollup]]:
    """The rows of each step, by its number; a step without rows is not in it."""
    grouped: dict[int, list[Rollup]] = defaultdict(list)
    for row in rows:
        grouped[(row.key.minute - window.start) // step].append(row)
    return grouped
