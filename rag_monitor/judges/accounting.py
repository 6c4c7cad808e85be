"""What a judgement will cost, what it did cost, and whether the budget allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from rag_monitor.domain.judgement import Judgement, JudgeRequest, JudgeUsage, texts_of
from rag_monitor.domain.ports import BudgetLedger, Reservation
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
    return estimate_texts(texts_of(request), price, calls)


def estimate_texts(
    texts: Sequence[str], price: Callable[[int, int], float], calls: int = 1
) -> JudgeUsage:
    """What so many calls that show these texts may cost, on the safe side."""
    tokens = (estimate_tokens(texts) + _OVERHEAD_TOKENS) * calls
    output = _OUTPUT_TOKENS * calls
    return JudgeUsage(
        calls=calls, input_tokens=tokens, output_tokens=output, cost=price(tokens, output)
    )


class Purse:
    """What one judgement may spend: set aside beforehand, and more before a call that needs it."""

    def __init__(self, ledger: BudgetLedger, reservation: Reservation) -> None:
        self._ledger = ledger
        self._held = reservation
        self._expected = reservation.reserved.input_tokens
        self._turn = asyncio.Lock()

    async def cover(
        self, total: JudgeUsage, price: Callable[[int, int], float] | None = None
    ) -> None:
        """Make sure that so much in all is set aside, before it is sent.

        The first call notes down all that the judgement was expected to send, so that those after
        it need not.

        Args:
            total: What the calls so far and the coming one cost at most.
            price: Of input and output tokens; None: they cost nothing.

        Raises:
            BudgetExhausted: The budget does not allow it.
        """
        async with self._turn:
            more = _beyond(total, self._held.reserved)
            if more.spent:
                extended = await asyncio.to_thread(self._ledger.extend, self._held, more)
                if extended is None:
                    raise BudgetExhausted
                self._held = extended
            if total.input_tokens > self._held.sent.input_tokens:
                tokens = max(total.input_tokens, self._expected)
                sent = JudgeUsage(input_tokens=tokens, cost=(price or free)(tokens, 0))
                self._held = await asyncio.to_thread(self._ledger.note_sent, self._held, sent)

    async def settle(self, actual: JudgeUsage) -> None:
        """Replace what was set aside by what was used, also after a failure."""
        await asyncio.to_thread(self._ledger.settle, self._held, actual)


class Account:
    """A judge's purses in a budget ledger; without a ledger everything is allowed."""

    def __init__(self, ledger: BudgetLedger | None, judge: str) -> None:
        self._ledger = ledger
        self._judge = judge

    async def open(self, project: str, estimate: JudgeUsage) -> Purse | None:
        """A purse that holds `estimate`; None: nobody counts.

        Raises:
            BudgetExhausted: The budget does not allow it.
        """
        if self._ledger is None:
            return None
        held = await asyncio.to_thread(self._ledger.reserve, project, self._judge, estimate)
        if held is None:
            raise BudgetExhausted
        return Purse(self._ledger, held)

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
        purses = [await self._opened(request) for request in requests]
        affordable = [r for r, purse in zip(requests, purses, strict=True) if purse is not None]
        answered = iter(await ask(affordable) if affordable else ())
        results = [BudgetExhausted() if purse is None else next(answered) for purse in purses]
        for purse, result in zip(purses, results, strict=True):
            if purse is not None:
                await purse.settle(result.usage if isinstance(result, Judgement) else JudgeUsage())
        return results

    async def _opened(self, request: JudgeRequest) -> Purse | None:
        try:
            return await self.open(request.project, estimate_usage(request, free))
        except BudgetExhausted:
            return None


def free(input_tokens: int, output_tokens: int) -> float:
    """The price of tokens that cost nothing."""
    del input_tokens, output_tokens
    return 0.0


def _beyond(total: JudgeUsage, reserved: JudgeUsage) -> JudgeUsage:
    """What is missing of `total`; input and output tokens are one limit."""
    tokens = total.input_tokens + total.output_tokens
    tokens -= reserved.input_tokens + reserved.output_tokens
    return JudgeUsage(
        input_tokens=max(0, tokens),
        gpu_seconds=max(0.0, total.gpu_seconds - reserved.gpu_seconds),
        cost=max(0.0, total.cost - reserved.cost),
    )
