"""Judging stored traces again: what it would cost, and putting it in the queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.stored import TraceQuery
from rag_monitor.domain.window import Window
from rag_monitor.errors import BudgetExhausted, UnknownJudge
from rag_monitor.store.budgets import Budgets
from rag_monitor.store.spending import Spending
from rag_monitor.store.tasks import Tasks
from rag_monitor.store.traces import Traces

_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest:
    """Which traces to judge again, and by whom."""

    project: str
    window: Window
    app: str | None = None
    release: str | None = None
    judge: str | None = None
    """None: the configured one."""
    limit: int = 1000
    """At most this many traces, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPreview:
    """What a backfill would do and cost."""

    traces: int
    judge: str
    tokens: int | None = None
    """Expected tokens; 0 when the judge uses none, None when it is not known."""
    gpu_seconds: float | None = None
    cost: float | None = None
    """In the currency of the judge's `price`; None without a price."""
    measured_on: int = 0
    """Traces judged on the day the expectation comes from; 0: nothing was measured."""
    fits_budget: bool | None = None
    """Whether what is left of today's budget allows it; None when the cost is not known."""


class Backfill:
    """Puts stored traces back into the queue.

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
        queue: Tasks,
        judges: Sequence[str],
        *,
        spending: Spending,
        budget: Budgets,
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
                "{traces} traces are expected to take {tokens} tokens, more than today's budget "
                "has left ({left:.0%}); take fewer with a limit, wait for the next UTC day, or "
                "raise the budget",
                traces=preview.traces,
                tokens=preview.tokens,
                left=left,
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
            "the judge {wanted!r} does not run here; there are {judges}",
            wanted=wanted,
            judges=", ".join(self._judges),
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
