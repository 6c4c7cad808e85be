"""What a process remembers between scrapes: counters that only rise, and the order of releases."""

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
_MAX_APPS_COUNTED: Final = 5_000
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
            while len(self._counts) > _MAX_APPS_COUNTED:
                self._counts.popitem(last=False)
        self._counts.move_to_end(place)
        state = self._counts[place]
        final = until - SETTLED
        if final > state.settled_until:
            _add(state.settled, _between(estimates, place, state.settled_until, final))
            state.settled_until = final
        counts = dict(state.settled)
        if until > state.settled_until:
            _add(counts, _between(estimates, place, state.settled_until, until))
        for status, count in counts.items():
            # Erasure takes traces away; a counter that falls would look like a restart.
            state.shown[status] = max(count, state.shown.get(status, 0))
        return dict(state.shown)


def _between(
    estimates: Estimates, place: tuple[str, str], start: datetime, end: datetime
) -> dict[str, int]:
    project, app = place
    return estimates.traces(Selection(project=project, app=app, window=Window(start, end)))


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for status, count in more.items():
        counts[status] = counts.get(status, 0) + count


_MAX_APPS_ORDERED: Final = 2_000
"""So many apps are remembered; those asked for longest ago are forgotten."""


class ReleaseOrder:
    """Remembers when each release appeared: that does not change any more."""

    def __init__(self) -> None:
        self._first: OrderedDict[tuple[str, str], dict[str, datetime]] = OrderedDict()

    def newest(self, estimates: Estimates, project: str, app: str, window: Window) -> list[str]:
        """The releases with traces in the window, the one that appeared last first."""
        present = estimates.present_releases(project, app, window)
        if len(present) < 2:
            return sorted(present)
        first = self._first.get((project, app), {})
        if not present <= first.keys():
            first = estimates.first_seen(project, app, window) | first
        # Erased between two looks: as good as new.
        kept = {release: first.get(release, window.end) for release in present}
        self._first[project, app] = kept
        self._first.move_to_end((project, app))
        while len(self._first) > _MAX_APPS_ORDERED:
            self._first.popitem(last=False)
        return sorted(present, key=lambda release: (kept[release], release), reverse=True)
