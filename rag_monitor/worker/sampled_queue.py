"""What waits for the sampled judge: a queue of its own, so that nothing else waits for it.

That judge may be slow, or its server down for hours. While nobody answers, one trace at a time is
tried and the others wait where they are safe, in the database; what has waited too long is given up
with a reason.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from rag_monitor import telemetry
from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.errors import JudgeBehind
from rag_monitor.evaluation.pipeline import Outcome, Pipeline
from rag_monitor.store.tasks import Tasks
from rag_monitor.worker.evaluating import Evaluation

_log = logging.getLogger(__name__)

_TRY_EVERY_S: Final = 15.0
"""Pause between a try of a judge that is away and the next one."""
_SHED_BATCH: Final = 200


class JudgeCircuit:
    """Whether a judge answers, as far as its last batches tell.

    It is away when all of a batch got no answer, and back with the first answer. While it is away
    one try is under way at a time.

    Args:
        judge: Its name.
        clock: Tells how long.
    """

    def __init__(self, judge: str, clock: Clock) -> None:
        self._judge = judge
        self._clock = clock
        self._since: float | None = None
        self._again = 0.0
        self._trying = False
        self.reason: str | None = None
        """Why nobody answers; None: somebody does."""
        self.detail: str | None = None
        """What its server said last."""
        telemetry.JUDGE_AWAY.labels(judge=judge).set(0)

    def admits(self, most: int) -> int:
        """How many traces may be sent now, at most `most`; what was admitted must be noted."""
        if self._since is None:
            return most
        if self._trying or self._clock.monotonic() < self._again:
            return 0
        self._trying = True
        return 1

    def note(self, outcomes: Sequence[Outcome], *, tried: bool) -> None:
        """Learn from a batch, or from the lack of one.

        Args:
            outcomes: What came of it; empty where there was nothing to send.
            tried: It was the one try that is under way.
        """
        if tried:
            self._trying = False
        reached = {outcome.reached for outcome in outcomes} - {None}
        if True in reached:
            self._back()
        elif reached:
            self._away(
                next(filter(None, map(_why, outcomes)), JudgeBehind.reason),
                next((outcome.detail for outcome in outcomes if outcome.detail), None),
            )

    def _away(self, reason: str, detail: str | None) -> None:
        now = self._clock.monotonic()
        self._again = now + _TRY_EVERY_S
        self.reason, self.detail = reason, detail
        if self._since is not None:
            return
        self._since = now
        telemetry.JUDGE_AWAY.labels(judge=self._judge).set(1)
        _log.warning(
            "judge %s does not answer (%s): what was drawn for it waits, one trace is tried every "
            "%.0f s; the other judge goes on. Its last error: %s",
            self._judge,
            reason,
            _TRY_EVERY_S,
            detail or "none",
        )

    def _back(self) -> None:
        if self._since is None:
            return
        away = self._clock.monotonic() - self._since
        self._since = self.reason = self.detail = None
        telemetry.JUDGE_AWAY.labels(judge=self._judge).set(0)
        _log.info("judge %s answers again after %.0f s", self._judge, away)

    @property
    def away(self) -> bool:
        """Whether nobody answers."""
        return self._since is not None


def _why(outcome: Outcome) -> str | None:
    if outcome.retry_reason is not None:
        return outcome.retry_reason
    failed = (score.reason for score in outcome.scores if score.status is ScoreStatus.FAILED)
    return next(failed, None)


class SampledQueue:
    """Works on what was sampled: judges it, or gives it up.

    Args:
        tasks: Where it waits.
        pipeline: Judges.
        clock: Tells the time.
        evaluation: Judges under leases and saves.
        owner: Who claims.
        options: How much at once, and how long a trace may wait.
    """

    def __init__(
        self,
        tasks: Tasks,
        pipeline: Pipeline,
        clock: Clock,
        evaluation: Evaluation,
        owner: str,
        options: WorkerOptions,
    ) -> None:
        self._tasks = tasks
        self._pipeline = pipeline
        self._clock = clock
        self._evaluation = evaluation
        self._owner = owner
        self._options = options
        sampled = pipeline.plan.sampled
        self._circuit = None if sampled is None else JudgeCircuit(sampled.identity.name, clock)

    async def judge_due(self) -> int:
        """Judge one batch; returns how many traces it held."""
        circuit, most = self._circuit, self._options.sampled_batch
        if circuit is None:
            return len(await self._judge(most))
        admitted = circuit.admits(most)
        if not admitted:
            return 0
        tried, outcomes = circuit.away, list[Outcome]()
        try:
            outcomes = await self._judge(admitted)
        finally:
            circuit.note(outcomes, tried=tried)
        return len(outcomes)

    async def _judge(self, most: int) -> list[Outcome]:
        lease_s, now = self._options.lease_s, self._clock.now()
        claimed = await asyncio.to_thread(
            self._tasks.claim, self._owner, most, lease_s, now, sampled=True
        )
        return await self._evaluation.run(claimed) if claimed else []

    async def shed_due(self) -> int:
        """Give up on a batch of those that have waited too long; returns how many."""
        now = self._clock.now()
        claimed = await asyncio.to_thread(
            self._tasks.claim_stale,
            self._owner,
            _SHED_BATCH,
            self._options.lease_s,
            now,
            now - timedelta(seconds=self._options.sampled_wait_s),
        )
        if not claimed:
            return 0
        reason, detail = None, None
        if self._circuit is not None:
            reason, detail = self._circuit.reason, self._circuit.detail
        outcomes = self._pipeline.shed(claimed, reason or JudgeBehind.reason, detail)
        await self._evaluation.save(claimed, outcomes)
        return len(claimed)
