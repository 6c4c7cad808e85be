"""Stops a run over a file once it is clear that the judge's server refuses whatever it is asked.

A wrong key or a misspelled model fails every row of a long file in the same way; nothing but a
person can fix it, and the time until the last row is lost. A quota that is used up stops the run at
once. What passes by itself (overload, an outage, a timeout) never counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, JudgeRequest
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.errors import (
    REFUSALS,
    EverythingRefused,
    JudgeOutputInvalid,
    JudgeRefused,
    QuotaExhausted,
)
from rag_monitor.judges.judge import BatchJudge, Judge
from rag_monitor.offline.dataset import RowResult

_FROM_THE_START: Final = 10
"""Refusals in a row that tell, as long as nothing was ever answered."""
_LATER: Final = 30
"""The same of a server that answered before: some refuse single texts with the same status."""
_REFUSALS: Final = frozenset(error.reason for error in REFUSALS)
_HELD: Final = 1_000
"""Rows held back at most; a file of rows that need no judge must not fill the memory."""


class StoppingJudge(BatchJudge):
    """A judge that is asked no more once its server refuses everything.

    Only what a server said counts: answers that took no call, or came from a cache, say nothing
    about it.

    Args:
        judge: Asked as long as there is hope.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._answered = False
        self._in_a_row = 0
        self._refusal: JudgeRefused | None = None

    @property
    def identity(self) -> JudgeIdentity:
        """The judge's."""
        return self._judge.identity

    @property
    def aspects(self) -> frozenset[Aspect]:
        """The judge's."""
        return self._judge.aspects

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge several traces, in order.

        Raises:
            EverythingRefused: So many answers before were refusals that nothing was asked.
        """
        enough = _LATER if self._answered else _FROM_THE_START
        if isinstance(self._refusal, QuotaExhausted) or self._in_a_row >= enough:
            raise self._error() from self._refusal
        results = await self._judge.judge_many(requests)
        for result in results:
            self._note(result)
        return results

    def check(self) -> None:
        """At the end of a file: was anything but refused, however few were asked?

        Raises:
            EverythingRefused: The server refused every question it got, or all of the last many.
        """
        spent = isinstance(self._refusal, QuotaExhausted)
        if spent or self._in_a_row >= _LATER or (self._in_a_row and not self._answered):
            raise self._error() from self._refusal

    async def close(self) -> None:
        """Close the judge."""
        await self._judge.close()

    def _note(self, result: Judgement | Exception) -> None:
        if isinstance(result, JudgeRefused):
            self._in_a_row += 1
            if not isinstance(self._refusal, QuotaExhausted):
                self._refusal = result
        elif isinstance(result, JudgeOutputInvalid) or (
            isinstance(result, Judgement) and result.usage.calls and not result.usage.cached
        ):
            self._in_a_row = 0
            self._answered = True

    def _error(self) -> EverythingRefused:
        if isinstance(self._refusal, QuotaExhausted):
            return EverythingRefused(
                "the quota of {identity} is used up: {refusal}",
                identity=self.identity,
                refusal=self._refusal,
            )
        return EverythingRefused(
            "{identity} refuses everything: {refusal}",
            identity=self.identity,
            refusal=self._refusal,
        )


class HeldBack:
    """Refused rows at the end of what was done so far, and what follows them.

    They are let go when the judge answers again. When it never does they are never written, so that
    going on with the same file asks about them again. After a used-up quota the run ends, and what
    was answered at the same time waits with them: lines stand in the order of the rows.
    """

    def __init__(self) -> None:
        self._rows: list[RowResult] = []
        self._spent = False

    def passed(self, result: RowResult) -> Iterator[RowResult]:
        """Take a row; give those, in their order, that are settled."""
        self._spent = self._spent or _refused(result, {QuotaExhausted.reason})
        waits = bool(self._rows) and not _judged(result) and len(self._rows) < _HELD
        if self._spent or _refused(result) or waits:
            self._rows.append(result)
            return
        yield from self.rest()
        yield result

    def rest(self) -> Iterator[RowResult]:
        """All that is left."""
        rows, self._rows = self._rows, []
        yield from rows


def _refused(result: RowResult, reasons: Collection[str] = _REFUSALS) -> bool:
    return any(
        score.status is ScoreStatus.FAILED and score.reason in reasons for score in result.scores
    )


def _judged(result: RowResult) -> bool:
    return any(score.value is not None and score.judge is not None for score in result.scores)
