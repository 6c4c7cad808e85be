"""What a window is compared with: the time before, last week, or the release before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from rag_monitor.domain.rollup import Rollup
from rag_monitor.domain.window import Window


class BaselineKind(StrEnum):
    """Which earlier stretch is the yardstick."""

    PREVIOUS_WINDOW = "previous_window"
    LAST_WEEK = "last_week"
    """The same hours one week earlier."""
    PREVIOUS_RELEASE = "previous_release"


@dataclass(frozen=True, slots=True)
class PreviousRelease:
    """The release that was replaced, and when."""

    release: str
    replaced_at: datetime
    """Minute of the first trace of the release that came after."""


def baseline_window(window: Window, kind: BaselineKind) -> Window:
    """The window of the same length that `kind` compares with.

    Raises:
        ValueError: For `previous_release`, whose window depends on the traces.
    """
    if kind is BaselineKind.PREVIOUS_WINDOW:
        return window.before()
    if kind is BaselineKind.LAST_WEEK:
        return window.before(timedelta(days=7))
    raise ValueError("the window of a previous release depends on when it was replaced")


def previous_release(rows: Iterable[Rollup], release: str | None = None) -> PreviousRelease | None:
    """The release before `release` (default: before the newest), by first appearance.

    Args:
        rows: Rollups of one app over the look-back.
        release: The present release; None: the one that appeared last.

    Returns:
        None when there is no other release before it.
    """
    first = first_seen(rows)
    if release is None:
        release = max(first, key=lambda name: (first[name], name), default=None)
    if release is None or release not in first:
        return None
    moment = first[release]
    # Two releases may first appear in the same minute: then their names tell which came first.
    earlier = [name for name, seen in first.items() if (seen, name) < (moment, release)]
    if not earlier:
        return None
    return PreviousRelease(max(earlier, key=lambda name: (first[name], name)), moment)


def first_seen(rows: Iterable[Rollup]) -> dict[str, datetime]:
    """The first minute of every release."""
    first: dict[str, datetime] = {}
    for row in rows:
        seen = first.get(row.key.release, row.key.minute)
        first[row.key.release] = min(seen, row.key.minute)
    return first
