"""Traces counted over the life of a process, from rollups that may still grow."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.window import Window

SETTLED: Final = timedelta(hours=2)
"""Minutes older than this are taken as final; later arrivals in them are not counted."""


class TraceCounter:
    """Makes a counter that only rises of per-minute rows that late data still changes.

    Args:
        since: Where counting begins: the minute the process became leader.
    """

    def __init__(self, since: datetime) -> None:
        self._since = since.replace(second=0, microsecond=0)
        self._settled_until: dict[tuple[str, str], datetime] = {}
        self._settled: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        self._shown: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)

    def count(
        self, estimates: Estimates, project: str, app: str, until: datetime
    ) -> dict[str, int]:
        """Traces by status from the beginning to `until` (a full minute, exclusive)."""
        place = (project, app)
        start = self._settled_until.get(place, self._since)
        settled = self._settled[place]
        final = until - SETTLED
        if final > start:
            _add(settled, estimates.traces(project, app, Window(start, final)))
            self._settled_until[place] = start = final
        counts = dict(settled)
        if until > start:
            _add(counts, estimates.traces(project, app, Window(start, until)))
        shown = self._shown[place]
        for status, count in counts.items():
            # Erasure takes traces away; a counter that falls would look like a restart.
            shown[status] = max(count, shown.get(status, 0))
        return dict(shown)


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for status, count in more.items():
        counts[status] = counts.get(status, 0) + count
