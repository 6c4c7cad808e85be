"""Traces that wait for a person's mark."""

from __future__ import annotations

from pydantic import Field

from rag_monitor.domain.labelling import LabelReason, LabelTask
from rag_monitor.server.schemas.traces import TraceRow
from rag_monitor.server.schemas.values import Hints, Wire, finite


class LabelTaskOut(Wire):
    """A trace to look at, and why."""

    reason: LabelReason = Field(
        description="`drawn`: by chance, so that its mark may correct the estimates; "
        "`judges_disagree`; `unsure`: the judge's probability is near one half."
    )
    low: float | None = Field(description="Least `answer_supported` that a judge gave.")
    high: float | None = Field(description="Largest `answer_supported` that a judge gave.")
    trace: TraceRow

    @classmethod
    def from_domain(cls, task: LabelTask) -> LabelTaskOut:
        """The task as it goes out."""
        return cls(
            reason=task.reason,
            low=finite(task.low),
            high=finite(task.high),
            trace=TraceRow.from_domain(task.trace),
        )


class LabelTasks(Wire):
    """Traces that wait for a mark, the most telling first."""

    items: list[LabelTaskOut]
    hints: Hints
