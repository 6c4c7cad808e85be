"""How a worker starts and stops: jobs on a schedule, leadership, drain."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

from rag_monitor.config.options import WorkerOptions
from rag_monitor.worker.exporting import ScoreExport
from rag_monitor.worker.jobs import Jobs
from rag_monitor.worker.leadership import Leadership
from rag_monitor.worker.scheduler import Job, Scheduler

_log = logging.getLogger(__name__)

_HOLD_EVERY_S: Final = 30.0
"""How often reservations in the budget are renewed, well before they run out."""
_SHED_EVERY_S: Final = 5.0
"""How often it is looked for drawn traces that have waited too long."""
_RELEASE_S: Final = 1.0
"""How long a database may take to hear that this process leads no longer."""


class Worker:
    """Derives and evaluates whenever there is work; aggregates and alerts while it leads."""

    def __init__(
        self,
        jobs: Jobs,
        leadership: Leadership,
        options: WorkerOptions,
        export: ScoreExport | None = None,
    ) -> None:
        self._export = export
        self._jobs = jobs
        self._leadership = leadership
        self._options = options
        self._scheduler = Scheduler()

    async def start(self) -> None:
        """Begin working in the running event loop."""
        jobs, options = self._jobs, self._options
        await self._lead()
        if self._leadership.leads:
            # Before the first request: rules a person puts in must not meet defaults later.
            await asyncio.to_thread(jobs.ship_rules)
            if self._export is not None:
                await self._export.begin()
        schedule = self._scheduler
        schedule.every(options.leader_ttl_s / 3, "lead", self._lead)
        lanes = options.evaluate_lanes
        schedule.every(options.rules_every_s, "sampling", jobs.begin_sampling_window)
        schedule.every(options.poll_s, "evaluate", jobs.evaluate_due, drain=True, lanes=lanes)
        drawn = options.sampled_lanes
        schedule.every(options.poll_s, "judge_drawn", jobs.judge_drawn, drain=True, lanes=drawn)
        schedule.every(_SHED_EVERY_S, "shed_drawn", jobs.shed_drawn, drain=True)
        schedule.every(_HOLD_EVERY_S, "hold_budget", jobs.hold_budget)
        lanes = options.derive_lanes
        schedule.every(options.poll_s, "derive", jobs.derive_due, drain=True, lanes=lanes)
        schedule.every(options.poll_s, "judge_suspect", jobs.judge_suspect, drain=True)
        schedule.every(options.poll_s, "roll_up", self._led(jobs.roll_up), drain=True)
        schedule.every(options.fold_every_s, "fold", self._led(jobs.fold), drain=True)
        schedule.every(options.fold_every_s, "index", self._led(jobs.index), drain=True)
        schedule.every(options.rules_every_s, "rules", self._led(jobs.check_rules))
        schedule.every(options.deliver_every_s, "deliver", self._led(jobs.deliver), drain=True)
        schedule.every(options.fold_every_s, "mend_times", self._led(jobs.mend_times))
        schedule.every(options.retention_every_s, "retain", self._led(jobs.retain))
        if self._export is not None:
            every = self._export.every_s
            schedule.every(every, "export", self._led(self._export.send_due), drain=True)
        schedule.start()

    async def stop(self) -> None:
        """Finish what is in hand, within the drain time, and step down."""
        if not await self._scheduler.stop(self._options.drain_s):
            _log.warning("work outlasted the drain time; its leases will run out")
        with contextlib.suppress(TimeoutError):  # its lease runs out by itself
            await asyncio.wait_for(asyncio.to_thread(self._leadership.release), _RELEASE_S)

    async def _lead(self) -> int:
        led = self._leadership.leads
        leads = await asyncio.to_thread(self._leadership.hold)
        if leads and not led:
            self._jobs.take_over()
        elif led and not leads:
            self._jobs.step_down()
        return int(leads)

    def _led(self, job: Job) -> Job:
        async def run() -> int:
            return await job() if self._leadership.leads else 0

        return run
