"""Which releases of an app are the newest, without looking at a week of minutes every time."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from typing import Final

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.window import Window

_APPS: Final = 2_000
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
        known = self._first.get((project, app), {})
        if not present <= known.keys():
            known = estimates.first_seen(project, app, window) | known
        # Erased between two looks: as good as new.
        kept = {release: known.get(release, window.end) for release in present}
        self._first[project, app] = kept
        self._first.move_to_end((project, app))
        while len(self._first) > _APPS:
            self._first.popitem(last=False)
        return sorted(present, key=lambda release: (kept[release], release), reverse=True)
