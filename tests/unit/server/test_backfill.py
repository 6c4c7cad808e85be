"""Backfill finds the traces, says what they cost, and queues each once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rag_monitor.domain.stored import TracePage, TraceQuery, TraceSummary
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.domain.window import Window
from rag_monitor.errors import UnknownJudge
from rag_monitor.server.backfill import StoredBackfill
from rag_monitor.server.ports import BackfillRequest
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
    """Remembers what was queued."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def enqueue(self, project: str, trace_ids: object) -> int:
        self.ids = list(trace_ids)  # type: ignore[call-overload]
        return len(self.ids)


def _request(**fields: object) -> BackfillRequest:
    window = Window.ending(EPOCH, timedelta(hours=1))
    return BackfillRequest(project="default", window=window, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stored", "limit", "judged"), [(450, 1000, 450), (450, 300, 300), (0, 5, 0)]
)
def test_every_page_is_taken_up_to_the_limit(stored: int, limit: int, judged: int) -> None:
    queue = Queue()
    backfill = StoredBackfill(Pages(stored), queue, ["embedded/m/1"])

    assert backfill.preview(_request(limit=limit)).traces == judged
    assert backfill.start(_request(limit=limit)) == judged
    assert len(set(queue.ids)) == judged


def test_the_embedded_judge_costs_no_tokens_and_others_do_not_say() -> None:
    backfill = StoredBackfill(Pages(3), Queue(), ["dear/m/1", "embedded/m/1"])

    assert backfill.preview(_request()).tokens is None
    assert backfill.preview(_request(judge="embedded")).tokens == 0


def test_a_judge_that_does_not_run_here_is_refused() -> None:
    with pytest.raises(UnknownJudge, match="there are embedded"):
        StoredBackfill(Pages(1), Queue(), ["embedded/m/1"]).start(_request(judge="nobody"))
