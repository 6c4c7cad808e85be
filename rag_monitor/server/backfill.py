"""Judging stored traces again: what it would cost, and putting it in the queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from rag_monitor.domain.judgement import JudgeUsage, is_embedded
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.stored import MeasuredUsage, TracePage, TraceQuery
from rag_monitor.errors import BudgetExhausted, UnknownJudge
from rag_monitor.server.ports import BackfillPreview, BackfillRequest

_PAGE = 200


class Traces(Protocol):
    """Lists stored traces."""

    def search(self, query: TraceQuery) -> TracePage:
        """One page, newest first."""
        ...


class Queue(Protocol):
    """The evaluation queue."""

    def enqueue(self, project: str, trace_ids: Sequence[str], judge: str | None = None) -> int:
        """Make the traces wait to be judged again by `judge`; returns how many will be."""
        ...


class Spending(Protocol):
    """What judging has cost so far."""

    def measured(self, project: str, judge: str) -> MeasuredUsage | None:
        """The newest day on which the judge cost something; None: it never did."""
        ...


class Budget(Protocol):
    """What judging may still cost today. Asking changes nothing."""

    def allows(self, project: str, judge: str, estimate: JudgeUsage) -> bool:
        """Whether that much could be set aside right now."""
        ...

    def state(self, project: str, judge: str) -> BudgetState:
        """What is left of the current day."""
        ...


class StoredBackfill:
    """Backfill over the store.

    Args:
        traces: Where traces are found.
        queue: Where work waits.
        judges: Names or identities of the judges that run here, the one that samples (or the only
            one) first.
        spending: What they have cost.
        budget: What they may cost.
    """

    def __init__(
        self,
        traces: Traces,
        queue: Queue,
        judges: Sequence[str],
        *,
        spending: Spending,
        budget: Budget,
    ) -> None:
        self._traces = traces
        self._queue = queue
        self._judges = tuple(judges)
        self._spending = spending
        self._budget = budget

    def preview(self, request: BackfillRequest) -> BackfillPreview:
        """How many traces it would judge, and at what cost.

        Embedded judges cost nothing; of others the mean of their newest day is expected.

        Raises:
            UnknownJudge: The judge asked for does not run here.
        """
        judge = self._judge(request)
        count = sum(1 for _ in self._ids(request))
        if is_embedded(judge):
            return BackfillPreview(traces=count, judge=judge, tokens=0, fits_budget=True)
        measured = self._spending.measured(request.project, _name(judge))
        if measured is None:
            return BackfillPreview(traces=count, judge=judge)
        expected = measured.of(count)
        return BackfillPreview(
            traces=count,
            judge=judge,
            tokens=expected.input_tokens,
            gpu_seconds=expected.gpu_seconds or None,
            cost=expected.cost or None,
            measured_on=measured.traces,
            fits_budget=self._budget.allows(request.project, _name(judge), expected),
        )

    def start(self, request: BackfillRequest) -> int:
        """Queue the evaluations; returns how many.

        Every judgement still reserves from the budget on its own: what the expectation missed is
        shed, and the scores a trace has stay.

        Raises:
            UnknownJudge: The judge asked for does not run here.
            BudgetExhausted: What it is expected to cost is more than today's budget has left.
        """
        preview = self.preview(request)
        if preview.fits_budget is False:
            left = self._budget.state(request.project, _name(preview.judge)).remaining
            raise BudgetExhausted(
                f"{preview.traces} traces are expected to take {preview.tokens} tokens, more than "
                f"today's budget has left ({left:.0%}); take fewer with a limit, wait for the next "
                "UTC day, or raise the budget"
            )
        ids = list(self._ids(request))
        return self._queue.enqueue(request.project, ids, _name(preview.judge))

    def _judge(self, request: BackfillRequest) -> str:
        wanted = request.judge or self._judges[0]
        for judge in self._judges:
            # Its name alone will do; the identity goes on with model, prompts and calibration.
            if wanted in (judge, _name(judge)) or _name(judge).startswith(f"{wanted}-"):
                return judge
        raise UnknownJudge(
            f"the judge {wanted!r} does not run here; there are {', '.join(self._judges)}"
        )

    def _ids(self, request: BackfillRequest) -> Iterator[str]:
        query = TraceQuery(
            project=request.project,
            app=request.app,
            release=request.release,
            since=request.window.start,
            until=request.window.end,
            limit=min(_PAGE, request.limit),
        )
        left = request.limit
        while left > 0:
            page = self._traces.search(query)
            for item in page.items[:left]:
                yield item.trace_id
            left -= len(page.items)
            if page.next_cursor is None:
                return
            query = replace(query, cursor=page.next_cursor)


def _name(judge: str) -> str:
    """The name at the beginning of an identity."""
    return judge.partition("/")[0]
