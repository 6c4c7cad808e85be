"""What a person says of a trace: a reviewer's mark, or a user's rating of the whole answer.

The two are told apart by `Feedback.kind`: a mark corrects what judges say, a rating is what
`satisfaction_rate` counts, and neither stands in for the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rag_monitor.domain.fault import FAULT_METRICS, Fault, fault_metric
from rag_monitor.domain.label import CANNOT_TELL
from rag_monitor.domain.rating import SATISFIED_ABOVE, RatingKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One annotation by a person. The newest one of a person on the same thing counts."""

    project: str
    trace_id: str
    value: float
    """0 (bad) to 1 (good). Of a mark on a metric, `CANNOT_TELL` counts in no figure."""
    metric: str | None = None
    statement: int | None = None
    """0-based index of the statement, when it is about one."""
    fault: Fault | None = None
    """What was at fault in the trace; `value` is then 1 for `none`, else 0."""
    kind: RatingKind | None = None
    """In which form a user rated the whole answer; None: it is a reviewer's mark."""
    raw_value: bool | float | str | None = None
    """Of a rating: the value as it was given."""
    scale: int | None = None
    """Of a rating from 1 to `scale`."""
    corrected_answer: str | None = None
    """What the answer should have been."""
    correct_document_ids: tuple[str, ...] = ()
    """The documents that it should have come from."""
    comment: str | None = None
    author: str | None = None
    created_at: datetime


class RatingSink(Protocol):
    """Where ingest puts users' ratings that other tools send."""

    def add_new(self, marks: list[Feedback], /) -> object:
        """Store those that are not stored yet, and return once they are committed. Blocks.

        Raises:
            StoreUnavailable: The database does not answer or is full; answer 503.
        """
        ...


def labels_of(annotations: Iterable[Feedback]) -> Mapping[str, float]:
    """The label that people give each metric of one trace: the mean of their annotations.

    Users' ratings and annotations of one statement say nothing about a metric, and neither does
    somebody who cannot tell. One that names a fault labels every share of a fault: 1 where it is
    that one, else 0.

        >>> from datetime import UTC, datetime
        >>> given = {"project": "default", "trace_id": "0" * 32, "created_at": datetime.now(UTC)}
        >>> labels_of([Feedback(metric="faithfulness", value=v, **given) for v in (1.0, 0.5, 0.0)])
        {'faithfulness': 0.5}
        >>> label = labels_of([Feedback(fault=Fault.INVENTED, value=0.0, **given)])
        >>> label["fault:invented"], label["fault:none"]
        (1.0, 0.0)

    Args:
        annotations: The newest annotation of each person on each thing, of one trace.
    """
    values_of: dict[str, list[float]] = defaultdict(list)
    for annotation in annotations:
        could_tell = annotation.statement is None and annotation.value != CANNOT_TELL
        if annotation.metric is not None and could_tell:
            values_of[annotation.metric].append(annotation.value)
        if annotation.fault is not None:
            named = fault_metric(annotation.fault)
            for metric in FAULT_METRICS:
                values_of[metric].append(float(metric == named))
    return {metric: sum(values) / len(values) for metric, values in values_of.items()}


def satisfaction_of(annotations: Iterable[Feedback]) -> float | None:
    """Whether users are satisfied with one answer: 1 or 0; None where nobody rated it.

    Of several users the mean decides. An even one, as 3 of 5, does not satisfy.

        >>> from datetime import UTC, datetime
        >>> given = {"project": "default", "trace_id": "0" * 32, "created_at": datetime.now(UTC)}
        >>> up, mark = RatingKind.THUMB, None
        >>> satisfaction_of([Feedback(kind=up, value=1.0, **given)])
        1.0
        >>> satisfaction_of([Feedback(kind=mark, metric="faithfulness", value=1.0, **given)])

    Args:
        annotations: The newest annotation of each person on each thing, of one trace.
    """
    ratings = [annotation.value for annotation in annotations if annotation.kind is not None]
    if not ratings:
        return None
    return float(sum(ratings) / len(ratings) > SATISFIED_ABOVE)
