"""Makes the snapshots behind `/metrics`: which apps they name, from where, and what is kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.alert import AlertState
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.stored import TimedTrace
from rag_monitor.domain.window import Window
from rag_monitor.exposition.scrape_state import TraceCounter
from rag_monitor.exposition.snapshot import WINDOW, App, Memory, Snapshot, build
from rag_monitor.store.alerts import Alerts
from rag_monitor.store.traces import Traces

MAX_QUIET: Final = 500
"""Apps without traffic in the window that keep their counter."""
QUIET_FOR: Final = timedelta(days=30)
"""Apps that have been quiet for longer are history."""
EXAMPLES: Final = 1_000
"""Newest traces of a project that may become exemplars."""
_SHOWN: Final = (AlertState.FIRING, AlertState.PENDING, AlertState.RESOLVED)


class Snapshots:
    """One after the other; what one has learned the next one knows. Not for several threads.

    Args:
        estimates: Where numbers come from.
        traces: Which apps there are, and how busy they are.
        alerts: Where alerts are kept.
        clock: Tells the present minute.
    """

    def __init__(self, estimates: Estimates, traces: Traces, alerts: Alerts, clock: Clock) -> None:
        self._estimates = estimates
        self._traces = traces
        self._alerts = alerts
        self._clock = clock
        self._memory: Memory | None = None

    def build(self) -> Snapshot:
        """The snapshot of the present minute.

        Raises:
            StoreUnavailable: The database does not answer.
        """
        now = self._clock.now()
        if self._memory is None:
            self._memory = Memory(counter=TraceCounter(now - WINDOW))
        return build(
            self._estimates,
            self._apps(now),
            now,
            [alert for state in _SHOWN for alert in self._alerts.load(None, state)],
            memory=self._memory,
            leads=True,
            recent=_Recent(self._traces, now - WINDOW),
        )

    def _apps(self, now: datetime) -> list[App]:
        """The busiest of all projects first; then quiet ones, up to a number, the newest first."""
        window = Window(now - WINDOW, now + timedelta(minutes=1))
        apps = [
            (project, one)
            for project in self._traces.projects()
            for one in self._traces.traffic(project, window)
        ]
        apps.sort(key=lambda item: (-item[1].traces, -item[1].last_seen.timestamp()))
        busy = [(project, one.app) for project, one in apps if one.traces]
        quiet = [
            (project, one.app)
            for project, one in apps
            if not one.traces and one.last_seen >= now - QUIET_FOR
        ]
        return busy + quiet[:MAX_QUIET]


class _Recent:
    """The newest traces of each app, read once per project."""

    def __init__(self, traces: Traces, since: datetime) -> None:
        self._traces = traces
        self._since = since
        self._known: dict[str, dict[str, list[TimedTrace]]] = {}

    def __call__(self, project: str, app: str) -> Sequence[TimedTrace]:
        """Newest first."""
        if project not in self._known:
            by_app: dict[str, list[TimedTrace]] = defaultdict(list)
            for trace in self._traces.newest(project, self._since, EXAMPLES):
                by_app[trace.app].append(trace)
            self._known[project] = by_app
        return self._known[project].get(app, ())
