"""A judge whose work is done by copies of another one, on a Ray cluster."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, JudgeRequest
from rag_monitor.domain.ports import BudgetLedger
from rag_monitor.judges.accounting import Account
from rag_monitor.judges.judge import BatchJudge, Judge
from rag_monitor.judges.ray.actor_pool import ActorPool
from rag_monitor.judges.ray.options import RayOptions


class RayJudge(BatchJudge):
    """The judge its actors run, under its own name: same identity, judgements and failures.

    Args:
        make: Makes that judge; it travels to the actors by pickle.
        options: How many actors, and how large.
        ledger: Keeps the budget, in this process; None: no budget.
        leave: Called at the end.

    Raises:
        ConfigurationError: The actors cannot make the judge.
    """

    def __init__(
        self,
        make: Callable[[], Judge],
        options: RayOptions,
        *,
        ledger: BudgetLedger | None = None,
        leave: Callable[[], None],
    ) -> None:
        self._options = options
        self._pool = ActorPool(make, options)
        self._account = Account(ledger, self.identity.name)
        self._leave = leave

    @property
    def identity(self) -> JudgeIdentity:
        """That of the judge in the actors: where it runs makes no other series."""
        return self._pool.info.identity

    @property
    def aspects(self) -> frozenset[Aspect]:
        """Those of the judge in the actors."""
        return self._pool.info.aspects

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge several traces, spread over the actors."""
        return await self._account.judge_many(requests, self._spread)

    async def close(self) -> None:
        """End the actors and leave the cluster."""
        await asyncio.to_thread(self._pool.close)
        await asyncio.to_thread(self._leave)

    async def _spread(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        if not requests:
            return []
        size = min(self._options.batch, math.ceil(len(requests) / self._options.actors))
        parts = [
            self._pool.submit(requests[start : start + size])
            for start in range(0, len(requests), size)
        ]
        answers = await asyncio.gather(*(asyncio.wrap_future(part) for part in parts))
        return [result for answer in answers for result in answer]
