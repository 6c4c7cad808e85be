"""What judges with a model on this machine share: one thread, whole batches, usage by tokens."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    JudgeUsage,
)
from rag_monitor.domain.ports import BudgetLedger
from rag_monitor.errors import JudgeError
from rag_monitor.judges.accounting import Account
from rag_monitor.judges.judge import BatchJudge


class LocalJudge(BatchJudge):
    """A judge that reads a batch of traces at a time, on one thread of its own.

    Args:
        identity: Stored with every score.
        on_gpu: Whether its time is GPU time.
        ledger: Keeps the budget; None: no budget.
    """

    def __init__(
        self, identity: JudgeIdentity, *, on_gpu: bool, ledger: BudgetLedger | None = None
    ) -> None:
        self._identity = identity
        self._on_gpu = on_gpu
        self._account = Account(ledger, identity.name)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"{identity.name}-judge")

    @property
    def identity(self) -> JudgeIdentity:
        """Name, model with its number format, and a hash of what decides its numbers."""
        return self._identity

    @property
    @abstractmethod
    def aspects(self) -> frozenset[Aspect]:
        """What this judge can answer."""

    @abstractmethod
    def _judge_batch(
        self, requests: Sequence[JudgeRequest]
    ) -> tuple[Sequence[Judgement], Sequence[int]]:
        """Judge traces together, on the thread.

        Returns:
            A judgement of each, and how many tokens the model read for it.

        Raises:
            JudgeError: One of them cannot be judged; each is then judged alone.
        """

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge several traces in as few passes as they fit into."""
        if not requests:
            return []
        return await self._account.judge_many(requests, self._on_the_thread)

    async def close(self) -> None:
        """Stop the thread; the model's memory goes with the last reference to the judge."""
        self._thread.shutdown(wait=True)

    async def _on_the_thread(
        self, requests: Sequence[JudgeRequest]
    ) -> Sequence[Judgement | Exception]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._judge_all, requests)

    def _judge_all(self, requests: Sequence[JudgeRequest]) -> list[Judgement | Exception]:
        began = time.perf_counter()
        try:
            judgements, tokens = self._judge_batch(requests)
        except JudgeError as error:
            if len(requests) == 1:
                return [error]
            return [outcome for request in requests for outcome in self._judge_all([request])]
        each = (time.perf_counter() - began) / (sum(tokens) or 1)
        return [
            replace(judgement, usage=self._usage(own, each * own))
            for judgement, own in zip(judgements, tokens, strict=True)
        ]

    def _usage(self, tokens: int, seconds: float) -> JudgeUsage:
        return JudgeUsage(
            calls=1 if tokens else 0,
            input_tokens=tokens,
            seconds=seconds,
            gpu_seconds=seconds if self._on_gpu else 0.0,
        )
