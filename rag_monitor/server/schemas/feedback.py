"""People's marks on traces, and what they say was at fault."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.feedback import Feedback
from rag_monitor.i18n import Message
from rag_monitor.server.schemas.values import Given, KnownMetric, Ratio, Text, TraceId, Wire


class FeedbackOut(Wire):
    """A person's mark."""

    trace_id: str
    value: float
    metric: str | None
    statement: int | None
    fault: str | None = Field(description="What was at fault; `value` is 1 for `none`, else 0.")
    comment: str | None
    author: str | None
    created_at: datetime

    @classmethod
    def from_domain(cls, annotation: Feedback) -> FeedbackOut:
        """The mark as it goes out."""
        return cls(
            trace_id=annotation.trace_id,
            value=annotation.value,
            metric=annotation.metric,
            statement=annotation.statement,
            fault=None if annotation.fault is None else annotation.fault.value,
            comment=annotation.comment,
            author=annotation.author,
            created_at=annotation.created_at,
        )


class FeedbackIn(Given):
    """A person's mark on a trace, on one metric of it or one statement, or what was at fault."""

    trace_id: TraceId
    value: Ratio | None = Field(
        default=None, description="0 (bad) to 1 (good); left out with `fault`.", examples=[1.0]
    )
    metric: KnownMetric | None = Field(
        default=None, description="null: the whole answer.", examples=["faithfulness"]
    )
    statement: Annotated[int, Field(strict=True, ge=0, le=10_000)] | None = Field(
        default=None, description="0-based index of the statement, when it is about one."
    )
    fault: Fault | None = Field(
        default=None, description="What was at fault, in place of a `value`; `none`: nothing."
    )
    comment: Text | None = None
    author: Annotated[str, Field(max_length=200)] | None = None

    @model_validator(mode="after")
    def _value_or_fault(self) -> Self:
        if self.fault is None and self.value is None:
            raise ValueError(Message("give a `value` from 0 (bad) to 1 (good), or a `fault`"))
        if self.fault is not None:
            others = (self.value, self.metric, self.statement)
            if any(other is not None for other in others):
                raise ValueError(
                    Message(
                        "a `fault` is about the whole trace: leave `value`, `metric` and "
                        "`statement` out"
                    )
                )
        return self

    def feedback(self, project: str, author: str | None, created_at: datetime) -> Feedback:
        """The mark that it is."""
        value = float(self.fault is Fault.NONE) if self.value is None else self.value
        return Feedback(
            project=project,
            trace_id=self.trace_id,
            value=value,
            metric=self.metric,
            statement=self.statement,
            fault=self.fault,
            comment=self.comment or None,
            author=author or None,
            created_at=created_at,
        )
