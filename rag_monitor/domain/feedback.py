"""A person's mark on a trace, on one metric of it, or on one statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What a person said. The newest mark of a person on the same thing counts."""

    project: str
    trace_id: str
    value: float
    """0 (bad) to 1 (good)."""
    metric: str | None = None
    statement: int | None = None
    """0-based index of the statement, when it is about one."""
    comment: str | None = None
    author: str | None = None
    created_at: datetime


def labels_of(marks: Iterable[Feedback]) -> Mapping[str, float]:
    """What people say about each metric of one trace: the mean of their marks.

    Marks on the whole trace or on one statement say nothing about a metric.

    Args:
        marks: The newest mark of each person on each thing, of one trace.
    """
    by_metric: dict[str, list[float]] = defaultdict(list)
    for mark in marks:
        if mark.metric is not None and mark.statement is None:
            by_metric[mark.metric].append(mark.value)
    return {metric: sum(values) / len(values) for metric, values in by_metric.items()}
