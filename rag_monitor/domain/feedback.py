"""A person's annotation of a trace, of one metric of it, or of one statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rag_monitor.domain.fault import FAULT_METRICS, Fault, fault_metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One annotation by a person. The newest one of a person on the same thing counts."""

    project: str
    trace_id: str
    value: float
    """0 (bad) to 1 (good)."""
    metric: str | None = None
    statement: int | None = None
    """0-based index of the statement, when it is about one."""
    fault: Fault | None = None
    """What was at fault in the trace; `value` is then 1 for `none`, else 0."""
    comment: str | None = None
    author: str | None = None
    created_at: datetime


def labels_of(annotations: Iterable[Feedback]) -> Mapping[str, float]:
    """The label that people give each metric of one trace: the mean of their annotations.

    Annotations of the whole trace or of one statement say nothing about a metric. One that names a
    fault labels every share of a fault: 1 where it is that one, else 0.

        >>> from datetime import UTC, datetime
        >>> given = {"project": "default", "trace_id": "0" * 32, "created_at": datetime.now(UTC)}
        >>> labels_of([Feedback(metric="faithfulness", value=v, **given) for v in (1.0, 0.5)])
        {'faithfulness': 0.75}
        >>> label = labels_of([Feedback(fault=Fault.INVENTED, value=0.0, **given)])
        >>> label["fault:invented"], label["fault:none"]
        (1.0, 0.0)

    Args:
        annotations: The newest annotation of each person on each thing, of one trace.
    """
    values_of: dict[str, list[float]] = defaultdict(list)
    for annotation in annotations:
        if annotation.metric is not None and annotation.statement is None:
            values_of[annotation.metric].append(annotation.value)
        if annotation.fault is not None:
            named = fault_metric(annotation.fault)
            for metric in FAULT_METRICS:
                values_of[metric].append(float(metric == named))
    return {metric: sum(values) / len(values) for metric, values in values_of.items()}
