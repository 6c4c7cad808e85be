"""The numbers behind `/metrics`, built from the database at most every few seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.alert import Alert
from rag_monitor.domain.clock import Clock
from rag_monitor.exposition.snapshot import Recent, Snapshot, build
from rag_monitor.exposition.trace_counter import TraceCounter

MAX_AGE = timedelta(seconds=5)


class Snapshots:
    """Keeps the latest snapshot. A process that does not lead exposes no value of the database.

    Args:
        estimates: Where numbers come from.
        apps: All (project, app), the most important first.
        alerts: All alerts.
        leads: Whether this process is the leader.
        ping: Asks the database for nothing; raises `StoreUnavailable` when it does not answer.
        clock: Tells the age of a snapshot.
        recent: The newest traces of a project and app, for exemplars; None: there are none.
    """

    def __init__(
        self,
        estimates: Estimates,
        apps: Callable[[], Sequence[tuple[str, str]]],
        alerts: Callable[[], Iterable[Alert]],
        leads: Callable[[], bool],
        ping: Callable[[], object],
        clock: Clock,
        recent: Recent | None = None,
    ) -> None:
        self._estimates = estimates
        self._apps = apps
        self._alerts = alerts
        self._leads = leads
        self._ping = ping
        self._clock = clock
        self._recent = recent
        self._lock = threading.Lock()
        self._latest: Snapshot | None = None
        self._counter: TraceCounter | None = None

    def latest(self) -> Snapshot:
        """The snapshot, rebuilt when it is too old. Scrapes at the same time share one build.

        Raises:
            StoreUnavailable: The database does not answer.
        """
        with self._lock:
            if not self._leads():
                self._latest = self._counter = None
                # Who cannot reach the database stops leading, and must not call it healthy then.
                self._ping()
                return Snapshot()
            now = self._clock.now()
            fresh = self._latest
            taken_at = fresh.taken_at if fresh is not None else None
            if fresh is not None and taken_at and timedelta(0) <= now - taken_at < MAX_AGE:
                return fresh
            if self._counter is None:
                self._counter = TraceCounter(now - timedelta(hours=1))
            self._latest = build(
                self._estimates,
                self._apps(),
                now,
                self._alerts(),
                counter=self._counter,
                leads=True,
                recent=self._recent,
            )
            return self._latest
