"""Backfill finds the traces, says what they cost, and queues each once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.stored import MeasuredUsage, TracePage, TraceQuery, TraceSummary
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.domain.window import Window
from rag_monitor.errors import BudgetExhausted, UnknownJudge
from rag_monitor.server.backfill import Backfill, BackfillRequest
from rag_monitor.testing import EPOCH


class Pages:
    """So many traces, in pages."""

    def __init__(self, count: int) -> None:
        self._ids = [f"{n:032x}" for n in range(1, count + 1)]

    def search(self, query: TraceQuery) -> TracePage:
        begin = int(query.cursor or 0)
        end = begin + query.limit
        items = tuple(
            TraceSummary(
                trace_id=id_,
                app="shop",
                release=None,
                started_at=EPOCH,
                status=TraceStatus.OK,
                question="q",
                answer="a",
                end_to_end_ms=None,
                first_byte_ms=None,
                revision=1,
            )
            for id_ in self._ids[begin:end]
        )
        return TracePage(items=items, next_cursor=str(end) if end < len(self._ids) else None)


class Queue:
    """Remembers what was queued, and for whom."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.judge: str | None = None

    def enqueue(self, project: str, trace_ids: object, judge: str | None = None) -> int:
        self.ids, self.judge = list(trace_ids), judge  # type: ignore[call-overload]
        return len(self.ids)


class Books:
    """A ledger with so many tokens left, and what ten traces have cost."""

    def __init__(self, left: int = 1_000_000, ten: JudgeUsage | None = None) -> None:
        self.left = left
        self._ten = ten

    def measured(self, project: str, judge: str) -> MeasuredUsage | None:
        return None if self._ten is None else MeasuredUsage(traces=10, usage=self._ten)

    def allows(self, project: str, judge: str, estimate: JudgeUsage) -> bool:
        return estimate.input_tokens <= self.left

    def state(self, project: str, judge: str) -> BudgetState:
        return BudgetState(remaining=0.25)


DEAR = ("dear/m/1", "embedded-lexical/m/1")
TEN = JudgeUsage(input_tokens=15_005, cost=0.5)


def backfill(
    count: int,
    judges: tuple[str, ...] = ("embedded/m/1",),
    books: Books | None = None,
    queue: Queue | None = None,
) -> Backfill:
    books = books or Books()
    return Backfill(Pages(count), queue or Queue(), judges, spending=books, budget=books)


def _request(**fields: object) -> BackfillRequest:
    window = Window.ending(EPOCH, timedelta(hours=1))
    return BackfillRequest(project="default", window=window, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stored", "limit", "judged"), [(450, 1000, 450), (450, 300, 300), (0, 5, 0)]
)
def test_every_page_is_taken_up_to_the_limit(stored: int, limit: int, judged: int) -> None:
    queue = Queue()
    work = backfill(stored, queue=queue)

    assert work.preview(_request(limit=limit)).traces == judged
    assert work.start(_request(limit=limit)) == judged
    assert len(set(queue.ids)) == judged


def test_the_embedded_judge_costs_nothing() -> None:
    preview = backfill(3, DEAR).preview(_request(judge="embedded"))

    assert (preview.tokens, preview.fits_budget) == (0, True)


def test_another_judge_is_expected_to_cost_what_it_cost_before() -> None:
    books = Books(ten=TEN)

    preview = backfill(25, DEAR, books).preview(_request())

    assert preview.judge == "dear/m/1"
    assert (preview.tokens, preview.cost, preview.measured_on) == (37_513, 1.25, 10)
    assert preview.fits_budget


def test_nothing_measured_is_nothing_known() -> None:
    preview = backfill(3, DEAR).preview(_request())

    assert (preview.tokens, preview.cost, preview.fits_budget) == (None, None, None)


def test_what_does_not_fit_into_the_budget_is_not_queued() -> None:
    queue = Queue()
    work = backfill(25, DEAR, Books(left=20_000, ten=TEN), queue)

    assert work.preview(_request()).fits_budget is False
    with pytest.raises(BudgetExhausted, match=r"25 traces .* 37513 tokens, .* \(25%\)"):
        work.start(_request())
    assert queue.ids == []
    assert work.start(_request(limit=10)) == 10


@pytest.mark.parametrize(
    ("asked", "queued"),
    [
        (None, "dear"),
        ("dear", "dear"),
        ("embedded", "embedded-lexical"),
        ("embedded-lexical/m/1", "embedded-lexical"),
    ],
)
def test_the_judge_asked_for_is_the_one_that_judges(asked: str | None, queued: str) -> None:
    queue = Queue()

    backfill(2, DEAR, queue=queue).start(_request(judge=asked))

    assert queue.judge == queued


def test_a_judge_that_does_not_run_here_is_refused() -> None:
    with pytest.raises(UnknownJudge, match="there are embedded"):
        backfill(1).start(_request(judge="nobody"))
