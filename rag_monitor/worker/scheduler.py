"""When jobs run, and which process leads: the only importer of APScheduler.

Memory job store, one instance per job, missed runs coalesced: what a job does is decided by marks
in the database, so a late or skipped run loses nothing. A lease in the database says which process
aggregates and alerts.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from rag_monitor import telemetry
from rag_monitor.domain.stored import Lease
from rag_monitor.errors import LeaseLost, StoreDamaged, StoreUnavailable
from rag_monitor.store.leases import Leases
from rag_monitor.store.outage import Outage, SharedOutage

_log = logging.getLogger(__name__)

Job = Callable[[], Awaitable[int]]
"""Does one batch; returns how much it did, 0 when there was nothing to do."""

_MAX_ROUNDS = 1000
"""Batches one run may do before it gives other jobs' log lines a chance."""
_WATCH_S = 1.0
"""How often the wall clock is compared with the monotonic one."""
_JUMP_S = 1.0
"""A wall clock that lost so much in between was set back."""
_GIVE_UP_S = 2.0
"""How long a job that outlasted the drain may take to give back what it holds."""
_PATIENCE_S = 30.0
"""A job that waited so long for its turn works without: one that hangs must not stop the others."""


class Scheduler:
    """Runs jobs on intervals in the running event loop.

    Args:
        shared_outage: Shared with others who tell of an outage of the database.
    """

    def __init__(self, shared_outage: SharedOutage | None = None) -> None:
        # Its remarks on coalesced runs are normal here, and each run reports its own failure.
        logging.getLogger("apscheduler").setLevel(logging.CRITICAL)
        self._scheduler = AsyncIOScheduler(
            timezone="UTC",
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
        )
        self._stopping = False
        self._outage = Outage(_log, "jobs wait for the database", shared_outage)
        self._waiting: set[str] = set()
        self._running: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._watch: asyncio.Task[None] | None = None

    def every(
        self,
        seconds: float,
        name: str,
        job: Job,
        *,
        drain: bool = False,
        lanes: int = 1,
        turn: asyncio.Lock | None = None,
    ) -> None:
        """Run `job` every `seconds`; with `drain`, again at once for as long as it finds work.

        Args:
            seconds: Between two beginnings.
            name: For logs and figures.
            job: Does one batch.
            drain: Go on while there is work.
            lanes: How many runs may be under way at once.
            turn: Held while the job does a batch, jobs that share one work one at a time, unless
                one of them takes very long.
        """
        for number in range(lanes):
            lane = f"{name}-{number}"
            self._scheduler.add_job(
                self._run,
                _Interval(seconds=seconds, jitter=min(seconds * 0.1, 5.0)),
                args=(name, lane, job, _MAX_ROUNDS if drain else 1, turn),
                id=lane,
            )

    async def _run(
        self, name: str, lane: str, job: Job, rounds: int, turn: asyncio.Lock | None
    ) -> None:
        worked_s = 0.0
        try:
            for _ in range(rounds):
                async with _in_turn(turn):
                    if self._stopping:
                        break
                    began = time.perf_counter()
                    self._begin(lane)
                    try:
                        again = await job()
                    except asyncio.CancelledError:
                        telemetry.JOB_FAILURES.labels(job=name).inc()
                        _log.warning("job %s was cut short: the process stops", name)
                        raise
                    finally:
                        self._end(lane)
                        worked_s += time.perf_counter() - began
                if not again:
                    break
        except (StoreUnavailable, StoreDamaged) as error:
            telemetry.JOB_FAILURES.labels(job=name).inc()
            self._waiting.add(name)
            self._outage.hit(error)
        except Exception:  # noqa: BLE001 - whatever it is, the next run may succeed
            telemetry.JOB_FAILURES.labels(job=name).inc()
            _log.exception("job %s failed", name)
        else:
            self._went_through(name)
        finally:
            telemetry.JOB_SECONDS.labels(job=name).observe(worked_s)

    def _begin(self, lane: str) -> None:
        self._running.add(lane)
        self._idle.clear()

    def _end(self, lane: str) -> None:
        self._running.discard(lane)
        if not self._running:
            self._idle.set()

    def _went_through(self, name: str) -> None:
        """Only jobs that failed prove it: one for the leader asks nothing while nobody leads."""
        self._waiting.discard(name)
        if not self._waiting:
            self._outage.passed()

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
        """Run every job at once when somebody sets the wall clock back.

        APScheduler plans by it: set back by an hour, no job would run for an hour.
        """
        ahead = time.time() - time.monotonic()
        while True:
            await asyncio.sleep(_WATCH_S)
            before, ahead = ahead, time.time() - time.monotonic()
            if before - ahead < _JUMP_S:
                continue
            _log.warning("the clock was set back by %.0f s; jobs are planned anew", before - ahead)
            for job in self._scheduler.get_jobs():
                job.modify(next_run_time=datetime.now(UTC))


@contextlib.asynccontextmanager
async def _in_turn(turn: asyncio.Lock | None) -> AsyncIterator[None]:
    has_it = False
    if turn is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                has_it = await turn.acquire()
    try:
        yield
    finally:
        if turn is not None and has_it:
            turn.release()


class _Interval(IntervalTrigger):  # type: ignore[misc]  # APScheduler is not typed
    """Beginnings at a distance, counted from now: those that were missed are one."""

    __slots__ = ()

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        """The next beginning, in the future.

        APScheduler asks for every missed one before it coalesces them. A machine that starts
        without a clock is set forward by decades, half-second by half-second: the event loop would
        stand still for hours.
        """
        moment: datetime | None = super().get_next_fire_time(previous and now, now)
        return moment


LEADER = "scheduler"


class Leadership:
    """Whether this process leads. Call `hold` from one job, read `leads` from the others."""

    def __init__(self, leases: Leases, owner: str, ttl_s: float) -> None:
        self._leases = leases
        self._owner = owner
        self._ttl_s = ttl_s
        self._lease: Lease | None = None

    @property
    def leads(self) -> bool:
        """True while the lease is ours as far as we know; saves are fenced by its token."""
        return self._lease is not None

    @property
    def lease(self) -> Lease | None:
        """The lease by which this process leads, as far as it knows."""
        return self._lease

    def hold(self) -> bool:
        """Acquire or renew; True when this process leads afterwards."""
        try:
            if self._lease is None:
                self._lease = self._leases.acquire(LEADER, self._owner, self._ttl_s)
                if self._lease is not None:
                    _log.info("this process now leads: it aggregates and alerts")
            else:
                self._lease = self._leases.renew(self._lease, self._ttl_s)
        except LeaseLost:
            _log.warning("leadership was lost: its lease ran out, or another process has it")
            self._lease = None
        except StoreUnavailable:
            # Without the database nobody can lead, and nobody can save either.
            self._lease = None
        return self.leads

    def require(self) -> Lease:
        """The lease, once more held by the database's clock: saves depend on it.

        Raises:
            LeaseLost: Somebody else leads, or the database cannot be asked.
        """
        if not self.hold() or self._lease is None:
            raise LeaseLost("this process leads no longer; what was found is dropped")
        return self._lease

    def release(self) -> None:
        """Step down at once, so that another process need not wait for the lease to run out."""
        if self._lease is None:
            return
        try:
            self._leases.release(self._lease)
        except (LeaseLost, StoreUnavailable) as error:
            _log.debug("the leader lease ran out by itself: %s", error)
        self._lease = None
