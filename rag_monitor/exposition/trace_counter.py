"""Traces counted over the life of a process, from rollups that may still grow."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Window

SETTLED: Final = timedelta(hours=2)
"""Minutes older than this are taken as final; later arrivals in them are not counted."""
_APPS: Final = 5_000
"""So many apps are remembered; of another one all time since the beginning is added up again."""


@dataclass(slots=True)
class _Count:
    """What is known of one app."""

    settled_until: datetime
    settled: dict[str, int] = field(default_factory=dict)
    """Of the minutes before `settled_until`."""
    shown: dict[str, int] = field(default_factory=dict)


class TraceCounter:
    """Makes a counter that only rises of per-minute rows that late data still changes.

    Args:
        since: Where counting begins: the minute the process became leader.
    """

    def __init__(self, since: datetime) -> None:
        self._since = since.replace(second=0, microsecond=0)
        self._counts: OrderedDict[tuple[str, str], _Count] = OrderedDict()

    def count(
        self, estimates: Estimates, project: str, app: str, until: datetime
    ) -> dict[str, int]:
        """Traces by status from the beginning to `until` (a full minute, exclusive)."""
        place = (project, app)
        if place not in self._counts:
            self._counts[place] = _Count(self._since)
            while len(self._counts) > _APPS:
                self._counts.popitem(last=False)
        self._counts.move_to_end(place)
        known = self._counts[place]
        final = until - SETTLED
        if final > known.settled_until:
            _add(known.settled, _between(estimates, place, known.settled_until, final))
            known.settled_until = final
        counts = dict(known.settled)
        if until > known.settled_until:
            _add(counts, _between(estimates, place, known.settled_until, until))
        for status, count in counts.items():
            # Erasure takes traces away; a counter that falls would look like a restart.
            known.shown[status] = max(count, known.shown.get(status, 0))
        return dict(known.shown)


def _between(
    estimates: Estimates, place: tuple[str, str], start: datetime, end: datetime
) -> dict[str, int]:
    project, app = place
    return estimates.traces(Selection(project=project, app=app, window=Window(start, end)))


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for status, count in more.items():
        counts[status] = counts.get(status, 0) + count
