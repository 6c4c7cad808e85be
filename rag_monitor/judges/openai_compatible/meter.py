"""What the calls of one judgement cost, and that the budget allows each before it is made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.errors import JudgeOutputInvalid, JudgeTimeout
from rag_monitor.judges.accounting import Purse, free
from rag_monitor.judges.openai_compatible.refused import ReplyWithheld, RequestRefused


@dataclass(slots=True)
class Call:
    """One call under way."""

    input_tokens: int
    """Expected, until the reply says more."""
    output_tokens: int
    """The most there may be, until the reply says more."""
    answered: bool = False

    def used(self, input_tokens: int, output_tokens: int) -> None:
        """What the reply, or a guess at it, says."""
        self.input_tokens, self.output_tokens = input_tokens, output_tokens
        self.answered = True


@dataclass(slots=True)
class Meter:
    """Adds up what the calls of one judgement cost."""

    purse: Purse | None = None
    """Pays; None: nobody counts."""
    price: Callable[[int, int], float] = free
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    notes: set[str] = field(default_factory=set)
    """What was noticed on the way, e.g. `canary_leaked`."""
    served: set[str] = field(default_factory=set)
    """Models that answered in place of the configured one."""
    _under_way: list[Call] = field(default_factory=list)

    @asynccontextmanager
    async def call(self, input_tokens: int, output_tokens: int = 0) -> AsyncIterator[Call]:
        """Around a call: set aside what it may cost, and count what it did cost.

        A call that nobody waited for, or whose reply cannot be read, was worked on all the same:
        it counts with what was sent. One that was refused, by a filter too, or never arrived costs
        nothing.

        Raises:
            BudgetExhausted: The budget does not allow the call; it is not made.
        """
        call = Call(input_tokens, output_tokens)
        self._under_way.append(call)
        try:
            if self.purse is not None:
                await self.purse.cover(self._most(), self.price)
            self.calls += 1
            try:
                yield call
            except (RequestRefused, ReplyWithheld):
                raise
            except (JudgeTimeout, JudgeOutputInvalid, asyncio.CancelledError):
                if not call.answered:
                    call.used(input_tokens, 0)
                raise
        finally:
            self._under_way.remove(call)
            if call.answered:
                self.input_tokens += call.input_tokens
                self.output_tokens += call.output_tokens

    def _most(self) -> JudgeUsage:
        """What it will have cost when all that is under way costs what it may."""
        sent = self.input_tokens + sum(call.input_tokens for call in self._under_way)
        written = self.output_tokens + sum(call.output_tokens for call in self._under_way)
        return JudgeUsage(input_tokens=sent, output_tokens=written, cost=self.price(sent, written))
