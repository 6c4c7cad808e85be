"""Marks in memory, and the queue of traces that wait for one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.stored import LabelledScore, LabelledTrace, StoredTrace
from rag_monitor.store.label_queue import LabelQuery, LabelReason, LabelTask
from tests.unit.server.story import JUDGE, summary_of


class FakeFeedback:
    def __init__(self, empty: bool = False) -> None:
        self.marks: list[Feedback] = []
        self.empty = empty

    def add(self, feedback: Feedback) -> None:
        self.marks.append(feedback)

    def add_new(self, marks: Sequence[Feedback]) -> list[Feedback]:
        new = [mark for mark in marks if mark not in self.marks]
        self.marks += new
        return new

    def labels(
        self,
        project: str,
        since: datetime,
        until: datetime,
        *,
        app: str | None = None,
        limit: int = 20_000,
    ) -> list[LabelledTrace]:
        made = sorted(self.marks, key=lambda mark: mark.created_at)
        within = [m for m in made if m.kind is None and since <= m.created_at < until]
        return [LabelledTrace(mark=mark, app=app or "loan-assistant") for mark in within][:limit]

    def newest_marks(
        self, project: str, since: datetime, until: datetime
    ) -> dict[str, dict[str, float]]:
        """Two who agree on nine in ten, and one who cannot tell."""
        if self.empty:
            return {}
        return {
            f"{number:032x}": {
                "amy": float(number % 4 > 0),
                "bo": float((number % 4 > 0) != (number % 10 == 0)),
                "cy": 0.5,
            }
            for number in range(40)
        }

    def of_trace(self, trace_id: str) -> tuple[Feedback, ...]:
        """The newest of each person on each thing."""
        newest = {
            (mark.author, mark.metric, mark.fault, mark.kind): mark
            for mark in self.marks
            if mark.trace_id == trace_id
        }
        return tuple(newest.values())

    def against_scores(self, project: str, since: datetime, until: datetime) -> list[LabelledScore]:
        """A judge that is right four times in five, and too sure of itself."""
        return [
            LabelledScore(
                trace_id=f"{number:032x}",
                app="loan-assistant",
                metric=metric,
                judge=str(JUDGE),
                value=number / 80,
                flagged=number < 40 if metric == "answer_supported" else None,
                label=float((number >= 40) != (number % 5 == 0)),
            )
            for number in range(80)
            for metric in ("faithfulness", "answer_supported")
            if not self.empty
        ]

    def rated_scores(
        self, project: str, since: datetime, until: datetime, *, app: str | None = None
    ) -> list[LabelledScore]:
        """Low faithfulness goes with thumbs down three times in four; few rated the relevance."""
        return [
            LabelledScore(
                trace_id=f"{number:032x}",
                app="loan-assistant",
                metric=metric,
                judge=str(JUDGE),
                value=number / 40,
                flagged=None,
                label=float((number >= 20) != (number % 4 == 0)),
            )
            for metric, count in (("faithfulness", 40), ("answer_relevance", 6))
            for number in range(count)
            if not self.empty and app in {None, "loan-assistant"}
        ]


class FakeLabelQueue:
    def __init__(self, stored: list[StoredTrace]) -> None:
        self.tasks = [
            LabelTask(trace=summary_of(s), reason=reason, low=low, high=high)
            for s, (reason, low, high) in zip(
                stored,
                [
                    (LabelReason.SAMPLED, None, None),
                    (LabelReason.DISAGREE, 0.2, 0.9),
                    (LabelReason.UNSURE, 0.48, 0.48),
                ],
                strict=False,
            )
        ]
        self.asked: list[tuple[LabelQuery, int]] = []
        self.claimed: list[tuple[str, str]] = []
        """Who has which trace."""

    def waiting(self, query: LabelQuery, limit: int = 50) -> list[LabelTask]:
        self.asked.append((query, limit))
        return [task for task in self.tasks if query.app in {None, task.trace.app}][:limit]

    def claim(self, query: LabelQuery) -> str | None:
        for task in self.waiting(query, 1):
            self.hold(query, task.trace.trace_id)
            return task.trace.trace_id
        return None

    def hold(self, query: LabelQuery, trace_id: str) -> bool:
        assert query.reviewer
        self.claimed.append((query.reviewer, trace_id))
        return True

    def release(self, project: str, trace_id: str, reviewer: str) -> None:
        self.claimed = [one for one in self.claimed if one != (reviewer, trace_id)]
