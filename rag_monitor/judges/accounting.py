"""What a judgement will cost, what it did cost, and whether the budget allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from rag_monitor.domain.judgement import JudgeRequest, JudgeUsage
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
