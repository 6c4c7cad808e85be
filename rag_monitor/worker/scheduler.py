"""When jobs run: the only importer of APScheduler.

Memory job store, one instance per job, missed runs coalesced: what a job does is decided by marks
in the database, so a late or skipped run loses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from rag_monitor import telemetry
from rag_monitor.errors import StoreUnavailable

_log = logging.getLogger(__name__)

Job = Callable[[], Awaitable[int]]
"""Does one batch; returns how much it did, 0 when there was nothing to do."""

_MAX_ROUNDS = 1000
"""Batches one run may do before it gives other jobs' log lines a chance."""
_WATCH_S = 1.0
"""How often the wall clock is compared with the monotonic one."""
_JUMP_S = 1.0
"""A wall clock that gained or lost so much in between has been set."""
_TELL_EVERY_S = 60.0
"""How often an outage of the database is told again."""
_GIVE_UP_S = 2.0
"""How long a job that outlasted the drain may take to give back what it holds."""


class Scheduler:
    """Runs jobs on intervals in the running event loop."""

    def __init__(self) -> None:
        # Its remarks on coalesced runs are normal here; failures come through the listener, and
        # with its own record of them each would stand in the log twice.
        logging.getLogger("apscheduler").setLevel(logging.CRITICAL)
        self._scheduler = AsyncIOScheduler(
            timezone="UTC",
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
        )
        self._scheduler.add_listener(_on_error, EVENT_JOB_ERROR)
        self._stopping = False
        self._outage = _Outage()
        self._running: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._watch: asyncio.Task[None] | None = None

    def every(
        self, seconds: float, name: str, job: Job, *, drain: bool = False, lanes: int = 1
    ) -> None:
        """Run `job` every `seconds`; with `drain`, again at once for as long as it finds work.

        Args:
            seconds: Between two beginnings.
            name: For logs and figures.
            job: Does one batch.
            drain: Go on while there is work.
            lanes: How many runs may be under way at once.
        """
        for lane in range(lanes):
            self._add(seconds, name, f"{name}-{lane}", job, drain)

    def _add(self, seconds: float, name: str, lane: str, job: Job, drain: bool) -> None:
        async def run() -> None:
            began = time.perf_counter()
            self._running.add(lane)
            self._idle.clear()
            try:
                for _ in range(_MAX_ROUNDS if drain else 1):
                    if self._stopping or not await job():
                        break
            except StoreUnavailable as error:
                telemetry.JOB_FAILURES.labels(job=name).inc()
                self._outage.hit(name, error)
            else:
                self._outage.passed(name)
            finally:
                self._running.discard(lane)
                if not self._running:
                    self._idle.set()
                telemetry.JOB_SECONDS.labels(job=name).observe(time.perf_counter() - began)

        self._scheduler.add_job(
            run,
            _Interval(seconds=seconds, jitter=min(seconds * 0.1, 5.0)),
            id=lane,
            name=name,
        )

    def start(self) -> None:
        """Begin; needs a running event loop."""
        self._scheduler.start()
        self._watch = asyncio.create_task(self._watch_clock())

    async def stop(self, drain_s: float) -> bool:
        """Start nothing new, let running batches end for at most `drain_s`; True if all ended."""
        self._stopping = True
        if self._watch is not None:
            self._watch.cancel()
        if not self._scheduler.running:
            return True
        self._scheduler.pause()
        ended = True
        try:
            await asyncio.wait_for(self._idle.wait(), drain_s)
        except TimeoutError:
            ended = False
        # Cancels whatever outlasted the drain; its lease runs out and another worker takes it.
        self._scheduler.shutdown(wait=False)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), _GIVE_UP_S)
        return ended

    async def _watch_clock(self) -> None:
        """Run every job at once when somebody sets the wall clock.

        APScheduler plans by it: set back by an hour, no job would run for an hour.
        """
        ahead = _wall_ahead()
        while True:
            await asyncio.sleep(_WATCH_S)
            before, ahead = ahead, _wall_ahead()
            if abs(ahead - before) < _JUMP_S:
                continue
            _log.warning("the clock was set by %+.0f s; every job is planned anew", ahead - before)
            for job in self._scheduler.get_jobs():
                job.modify(next_run_time=datetime.now(UTC))


class _Outage:
    """Tells of an outage of the database when it begins, now and then, and when it is over.

    Every job of every lane comes by each half second: told each time, nothing else would be found
    in the log of that hour. Figures count each of them.
    """

    def __init__(self) -> None:
        self._began = self._told = 0.0
        self._jobs: set[str] = set()

    def hit(self, name: str, error: Exception) -> None:
        """A job could not reach the database."""
        now = time.monotonic()
        if not self._jobs:
            self._began = self._told = now
            _log.warning("%s waits for the database: %s", name, error)
        self._jobs.add(name)
        if now - self._told >= _TELL_EVERY_S:
            self._told = now
            waiting = ", ".join(sorted(self._jobs))
            away = now - self._began
            _log.warning("waiting for the database for %.0f s (%s): %s", away, waiting, error)

    def passed(self, name: str) -> None:
        """A job went through; those that only the leader does prove nothing while nobody leads."""
        if name not in self._jobs:
            return
        self._jobs.discard(name)
        if not self._jobs:
            _log.info("the database is back after %.0f s", time.monotonic() - self._began)


class _Interval(IntervalTrigger):  # type: ignore[misc]  # APScheduler is not typed
    """Beginnings at a distance; those that were missed are one, however many they are."""

    __slots__ = ()

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        """The next beginning after `previous`, in the future.

        APScheduler asks for every missed one before it coalesces them. A machine that starts
        without a clock is set forward by decades, half-second by half-second: the event loop would
        stand still for hours.
        """
        if previous is not None and now - previous >= self.interval:
            previous = now
        found: datetime | None = super().get_next_fire_time(previous, now)
        return found


def _wall_ahead() -> float:
    """How far the wall clock is ahead of the monotonic one, read at one moment.

    A process that has to wait for a processor between the two readings tries again.
    """
    while True:
        before = time.monotonic()
        wall = time.time()
        after = time.monotonic()
        if after - before < _JUMP_S / 10:
            return wall - after


def _on_error(event: JobExecutionEvent) -> None:
    name = event.job_id.rpartition("-")[0]
    telemetry.JOB_FAILURES.labels(job=name).inc()
    if isinstance(event.exception, asyncio.CancelledError):
        _log.warning("job %s was cut short: the process stops", name)
    else:
        _log.error("job %s failed", name, exc_info=event.exception)
