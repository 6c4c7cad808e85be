"""From claimed tasks to saved scores: judged under leases that are kept, saved through outages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from rag_monitor import telemetry
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.conversation import last_turns
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.errors import LeaseLost, StoreUnavailable
from rag_monitor.evaluation.pipeline import Outcome, Pipeline
from rag_monitor.evaluation.request import continues
from rag_monitor.store.earlier_turns import EarlierTurns
from rag_monitor.store.task_completion import Completion
from rag_monitor.store.tasks import Tasks
from rag_monitor.worker.fault_finding import FaultFinder

_log = logging.getLogger(__name__)

_SAVE_AGAIN_S: Final = 1.0
"""Pause between tries to save while the database is away."""


class Evaluation:
    """Judges claimed tasks and saves what came of it. Any number of runs may be under way."""

    def __init__(
        self,
        tasks: Tasks,
        pipeline: Pipeline,
        clock: Clock,
        options: WorkerOptions,
        faults: FaultFinder,
        earlier: EarlierTurns,
    ) -> None:
        self._tasks = tasks
        self._earlier = earlier
        self._faults = faults
        self._pipeline = pipeline
        self._clock = clock
        self._options = options

    async def run(self, tasks: Sequence[EvaluationTask]) -> list[Outcome]:
        """Judge the tasks and save the outcomes, which are returned, one for each.

        Raises:
            StoreUnavailable: The database was away for longer than a lease lasts.
        """
        keeper = asyncio.create_task(self._keep(tasks))
        try:
            tasks = await asyncio.to_thread(self._with_history, tasks)
            outcomes = await self._pipeline.evaluate(tasks)
            await self.save(tasks, outcomes)
        except asyncio.CancelledError:
            # Stopped in the middle: others need not wait for the leases to run out.
            await asyncio.to_thread(self._give_back, tasks)
            raise
        finally:
            keeper.cancel()
        return outcomes

    def _with_history(self, tasks: Sequence[EvaluationTask]) -> Sequence[EvaluationTask]:
        """The tasks with the turns that judges are given, where questions depend on these.

        What a trace tells of itself goes before its session.
        """
        continuing = {task.id for task in tasks if continues(task.trace)}
        asking = [
            task
            for task in tasks
            if task.id in continuing and task.trace.session_id and not task.trace.history
        ]
        turns_before = self._earlier.before(asking) if asking else []
        before = {task.id: turns for task, turns in zip(asking, turns_before, strict=True)}
        return [
            replace(
                task,
                history=last_turns(task.trace.history or before.get(task.id, ()))
                if task.id in continuing
                else (),
            )
            for task in tasks
        ]

    async def _keep(self, tasks: Sequence[EvaluationTask]) -> None:
        """Hold the leases while a slow judge thinks, so that nobody pays for it twice."""
        while True:
            await asyncio.sleep(self._options.lease_s / 3)
            await asyncio.to_thread(self._renew, tasks)

    def _renew(self, tasks: Sequence[EvaluationTask]) -> None:
        try:
            self._tasks.renew_many(tasks, self._options.lease_s, self._clock.now())
        except StoreUnavailable as error:
            _log.debug("the leases on %d tasks are not renewed: %s", len(tasks), error)

    def _give_back(self, tasks: Sequence[EvaluationTask]) -> None:
        try:
            self._tasks.give_back(tasks, self._clock.now())
        except StoreUnavailable as error:
            _log.warning("%d tasks wait for their leases to run out: %s", len(tasks), error)

    async def save(self, tasks: Sequence[EvaluationTask], outcomes: Sequence[Outcome]) -> None:
        """Save what came of it, through an outage of the database as long as a lease lasts.

        What was judged has been paid for; without this every outage would have it judged again.
        """
        done: list[Completion] = []
        sampled = {
            task.id for task, outcome in zip(tasks, outcomes, strict=True) if outcome.sampled
        }
        waiting: list[tuple[EvaluationTask, str]] = []
        for task, outcome in zip(tasks, outcomes, strict=True):
            if outcome.retry_reason is None:
                done.append((task, outcome.scores, outcome.decisions))
            else:
                waiting.append((task, outcome.retry_reason))
        diagnoses = await asyncio.to_thread(self._faults.diagnose, tasks, outcomes)
        deadline = self._clock.monotonic() + self._options.lease_s
        while True:
            try:
                await asyncio.to_thread(self._save, done, waiting, sampled, diagnoses)
            except StoreUnavailable:
                if self._clock.monotonic() >= deadline:
                    raise
                await asyncio.sleep(_SAVE_AGAIN_S)
            else:
                return

    def _save(
        self,
        done: list[Completion],
        waiting: list[tuple[EvaluationTask, str]],
        sampled: Collection[int],
        diagnoses: Mapping[int, Diagnosis],
    ) -> None:
        """Save, taking from the lists what is saved, so that it may be called again."""
        try:
            lost = self._tasks.complete_many(done, sampled, diagnoses)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - one of them cannot be saved: found by saving each alone
            _log.exception("a batch of %d evaluations could not be saved together", len(done))
            lost = [task for one in done for task in self._save_alone(one, sampled, diagnoses)]
        done.clear()
        if lost:
            telemetry.dropped("evaluation", "lease_lost", len(lost))
        while waiting:
            self._wait(*waiting[-1])
            waiting.pop()

    def _save_alone(
        self, done: Completion, sampled: Collection[int], diagnoses: Mapping[int, Diagnosis]
    ) -> list[EvaluationTask]:
        try:
            return self._tasks.complete_many([done], sampled, diagnoses)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, its neighbours are saved
            task = done[0]
            _log.exception("trace %s: its evaluation cannot be saved", task.trace.trace_id)
            telemetry.dropped("evaluation", "unsavable")
            try:
                self._tasks.park(task, "unsavable")
            except LeaseLost:
                return [task]
            return []

    def _wait(self, task: EvaluationTask, reason: str) -> None:
        wait = timedelta(seconds=self._pipeline.plan.options.wait_s(task.attempts))
        try:
            self._tasks.retry(task, reason, self._clock.now() + wait)
        except LeaseLost:
            telemetry.dropped("evaluation", "lease_lost")
