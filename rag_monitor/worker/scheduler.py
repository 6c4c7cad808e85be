"""When jobs run: the only importer of APScheduler.

Memory job store, one instance per job, missed runs coalesced: what a job does is decided by marks
in the database, so a late or skipped run loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

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


class Scheduler:
    """Runs jobs on intervals in the running event loop."""

    def __init__(self) -> None:
        # Its remarks on coalesced runs are normal here; failures come through the listener.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._scheduler = AsyncIOScheduler(
            timezone="UTC",
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
        )
        self._scheduler.add_listener(_on_error, EVENT_JOB_ERROR)
        self._stopping = False
        self._running: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def every(self, seconds: float, name: str, job: Job, *, drain: bool = False) -> None:
        """Run `job` every `seconds`; with `drain`, again at once for as long as it finds work."""

        async def run() -> None:
            began = time.perf_counter()
            self._running.add(name)
            self._idle.clear()
            try:
                for _ in range(_MAX_ROUNDS if drain else 1):
                    if self._stopping or not await job():
                        break
            except StoreUnavailable as error:
                telemetry.JOB_FAILURES.labels(job=name).inc()
                _log.warning("%s waits for the database: %s", name, error)
            finally:
                self._running.discard(name)
                if not self._running:
                    self._idle.set()
                telemetry.JOB_SECONDS.labels(job=name).observe(time.perf_counter() - began)

        self._scheduler.add_job(
            run, IntervalTrigger(seconds=seconds, jitter=min(seconds * 0.1, 5.0)), id=name
        )

    def start(self) -> None:
        """Begin; needs a running event loop."""
        self._scheduler.start()

    async def stop(self, drain_s: float) -> bool:
        """Start nothing new, let running batches end for at most `drain_s`; True if all ended."""
        self._stopping = True
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
        await asyncio.sleep(0)
        return ended


def _on_error(event: JobExecutionEvent) -> None:
    telemetry.JOB_FAILURES.labels(job=event.job_id).inc()
    _log.error("job %s failed", event.job_id, exc_info=event.exception)
