"""Judging stored traces again: what it would cost, and putting it in the queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from rag_monitor.domain.stored import TracePage, TraceQuery
from rag_monitor.errors import UnknownJudge
from rag_monitor.server.ports import BackfillPreview, BackfillRequest

_PAGE = 200


class Traces(Protocol):
    """Lists stored traces."""

    def search(self, query: TraceQuery) -> TracePage:
        """One page, newest first."""
        ...


class Queue(Protocol):
    """The evaluation queue."""

    def enqueue(self, project: str, trace_ids: Sequence[str]) -> int:
        """Make the traces wait to be judged again; returns how many will be."""
        ...


class StoredBackfill:
    """Backfill over the store.

    Args:
        traces: Where traces are found.
        queue: Where work waits.
        judges: Names of the judges that run here, the one that samples (or the only one) first.
    """

    def __init__(self, traces: Traces, queue: Queue, judges: Sequence[str]) -> None:
        self._traces = traces
        self._queue = queue
        self._judges = tuple(judges)

    def preview(self, request: BackfillRequest) -> BackfillPreview:
        """How many traces it would judge. Embedded judges use no tokens.

        Raises:
            UnknownJudge: The judge asked for does not run here.
        """
        judge = self._judge(request)
        count = sum(1 for _ in self._ids(request))
        free = judge.startswith("embedded")
        return BackfillPreview(traces=count, judge=judge, tokens=0 if free else None)

    def start(self, request: BackfillRequest) -> int:
        """Queue the evaluations; returns how many.

        Raises:
            UnknownJudge: The judge asked for does not run here.
        """
        self._judge(request)
        return self._queue.enqueue(request.project, list(self._ids(request)))

    def _judge(self, request: BackfillRequest) -> str:
        wanted = request.judge or self._judges[0]
        for judge in self._judges:
            # Its name alone will do; the identity goes on with model, prompts and calibration.
            if wanted in (judge, judge.partition("/")[0]):
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
