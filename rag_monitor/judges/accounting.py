"""What a judgement will cost, what it did cost, and whether the budget allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from rag_monitor.domain.judgement import Judgement, JudgeRequest, JudgeUsage
from rag_monitor.domain.ports import BudgetLedger
from rag_monitor.errors import BudgetExhausted

_OVERHEAD_TOKENS: Final = 700
_OUTPUT_TOKENS: Final = 250


def estimate_tokens(texts: Sequence[str]) -> int:
    """A guess at the tokens of `texts`: one per four ASCII characters, one per other one."""
    total = 0
    for text in texts:
        others = len(text) if not text.isascii() else 0
        if others:
            others = sum(1 for c in text if ord(c) > 127)
        total += others + (len(text) - others + 3) // 4
    return total


def estimate_usage(
    request: JudgeRequest, price: Callable[[int, int], float], calls: int = 1
) -> JudgeUsage:
    """What a judgement of `request` may cost, on the safe side."""
    texts = [request.question, request.answer, *(request.contexts or ())]
    tokens = (estimate_tokens(texts) + _OVERHEAD_TOKENS) * calls
    output = _OUTPUT_TOKENS * calls
    return JudgeUsage(
        calls=calls, input_tokens=tokens, output_tokens=output, cost=price(tokens, output)
    )


class Account:
    """A judge's purse in a budget ledger; without a ledger everything is allowed."""

    def __init__(self, ledger: BudgetLedger | None, judge: str) -> None:
        self._ledger = ledger
        self._judge = judge

    async def reserve(self, project: str, estimate: JudgeUsage) -> None:
        """Set `estimate` aside.

        Raises:
            BudgetExhausted: The budget does not allow it.
        """
        if self._ledger is None:
            return
        if not await asyncio.to_thread(self._ledger.reserve, project, self._judge, estimate):
            raise BudgetExhausted

    async def settle(self, project: str, estimate: JudgeUsage, actual: JudgeUsage) -> None:
        """Replace the reservation by what was used, also after a failure."""
        if self._ledger is not None:
            await asyncio.to_thread(self._ledger.settle, project, self._judge, estimate, actual)

    async def judge_many(
        self,
        requests: Sequence[JudgeRequest],
        ask: Callable[[Sequence[JudgeRequest]], Awaitable[Sequence[Judgement | Exception]]],
    ) -> list[Judgement | Exception]:
        """Have `ask` judge what the budget allows, for judges that cost no money.

        Each request is reserved for by itself, and settled by what its judgement says it used.
        """
        if self._ledger is None:
            return list(await ask(requests))
        estimates = [estimate_usage(request, _free) for request in requests]
        allowed = [
            await self._allowed(request, estimate)
            for request, estimate in zip(requests, estimates, strict=True)
        ]
        asked = [request for request, yes in zip(requests, allowed, strict=True) if yes]
        found = iter(await ask(asked) if asked else ())
        results = [next(found) if yes else BudgetExhausted() for yes in allowed]
        for request, estimate, yes, result in zip(
            requests, estimates, allowed, results, strict=True
        ):
            if yes:
                used = result.usage if isinstance(result, Judgement) else JudgeUsage()
                await self.settle(request.project, estimate, used)
        return results

    async def _allowed(self, request: JudgeRequest, estimate: JudgeUsage) -> bool:
        try:
            await self.reserve(request.project, estimate)
        except BudgetExhausted:
            return False
        return True


def _free(input_tokens: int, output_tokens: int) -> float:
    del input_tokens, output_tokens
    return 0.0
