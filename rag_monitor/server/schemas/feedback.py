"""Reviewers' marks on traces, what they say was at fault, and users' ratings of answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Self

from pydantic import Field, WithJsonSchema, model_validator

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.rating import MOST_STEPS, RatingKind, rating_of
from rag_monitor.i18n import Message
from rag_monitor.server.rating_agreement import RatingAgreement
from rag_monitor.server.schemas.values import Given, KnownMetric, Name, Text, TraceId, Wire

_THUMB_WORDS: Final = ("up", "down", "thumbs_up", "thumbs_down")
_RATED_WITH: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "boolean"},
        {"type": "string", "enum": list(_THUMB_WORDS)},
        {"type": "number", "minimum": 0, "maximum": MOST_STEPS},
    ]
}
MOST_DOCUMENTS: Final = 100
"""Named in one correction."""


class RatingAgreementOut(Wire):
    """Whether low scores of a metric tell which answers users rate down."""

    app: str
    metric: str
    judge: str | None = Field(description="Its identity; null: needs no judge.")
    satisfied: int = Field(description="Rated answers that satisfied their users.")
    dissatisfied: int
    auroc: float | None = Field(
        description="P(of an answer that did not satisfy and one that did, the first has the worse "
        "score); 0.5 is chance. null: fewer than 20 answers, or fewer than 5 of either kind."
    )
    lower: float | None = Field(description="Of its 95 % interval.")
    upper: float | None

    @classmethod
    def from_domain(cls, agreement: RatingAgreement) -> RatingAgreementOut:
        """As it goes out."""
        interval = agreement.interval
        return cls(
            app=agreement.app,
            metric=agreement.metric,
            judge=agreement.judge or None,
            satisfied=agreement.satisfied,
            dissatisfied=agreement.dissatisfied,
            auroc=agreement.auroc,
            lower=None if interval is None else interval.lower,
            upper=None if interval is None else interval.upper,
        )


class RatingAgreements(Wire):
    """Every metric and judge with scores of rated answers."""

    start: datetime
    end: datetime
    items: list[RatingAgreementOut]


class FeedbackOut(Wire):
    """A reviewer's mark, or a user's rating."""

    trace_id: str
    value: float
    metric: str | None
    statement: int | None
    fault: str | None = Field(description="What was at fault; `value` is 1 for `none`, else 0.")
    kind: RatingKind | None = Field(
        description="Form in which a user rated the whole answer; null: a reviewer's mark."
    )
    raw_value: bool | int | float | str | None = Field(description="A rating as it was given.")
    scale: int | None = Field(description="Best step of a rating from 1 to `scale`.")
    comment: str | None
    corrected_answer: str | None
    correct_document_ids: list[str]
    author: str | None
    created_at: datetime

    @classmethod
    def from_domain(cls, annotation: Feedback) -> FeedbackOut:
        """The mark or rating as it goes out."""
        return cls(
            trace_id=annotation.trace_id,
            value=annotation.value,
            metric=annotation.metric,
            statement=annotation.statement,
            fault=None if annotation.fault is None else annotation.fault.value,
            kind=annotation.kind,
            raw_value=annotation.raw_value,
            scale=annotation.scale,
            comment=annotation.comment,
            corrected_answer=annotation.corrected_answer,
            correct_document_ids=list(annotation.correct_document_ids),
            author=annotation.author,
            created_at=annotation.created_at,
        )


class FeedbackIn(Given):
    """A user's rating of an answer, or a reviewer's mark: on a metric, a statement or a fault."""

    trace_id: TraceId
    value: Annotated[Any, WithJsonSchema(_RATED_WITH)] = Field(
        default=None,
        description="true or `up` (good), false or `down` (bad), 0 (bad) to 1 (good), or, with "
        "`scale`, 1 (bad) to `scale` (good); left out with `fault`.",
        examples=[1.0],
    )
    scale: Annotated[Any, WithJsonSchema({"type": ["integer", "null"], "minimum": 2})] = Field(
        default=None,
        description="Best step of the scale of `value`, whose worst is 1.",
        examples=[5],
    )
    metric: KnownMetric | None = Field(
        default=None,
        description="What a reviewer's mark is about; null: a user's rating of the whole answer.",
        examples=["faithfulness"],
    )
    statement: Annotated[int, Field(strict=True, ge=0, le=10_000)] | None = Field(
        default=None, description="0-based index of the statement, when it is about one."
    )
    fault: Fault | None = Field(
        default=None, description="What was at fault, in place of a `value`; `none`: nothing."
    )
    comment: Text | None = None
    corrected_answer: Annotated[str, Field(max_length=20_000)] | None = Field(
        default=None, description="What the answer should have been."
    )
    correct_document_ids: Annotated[list[Name], Field(max_length=MOST_DOCUMENTS)] = Field(
        default_factory=list, description="Documents that the answer should have come from."
    )
    author: Annotated[str, Field(max_length=200)] | None = None

    @model_validator(mode="after")
    def _value_or_fault(self) -> Self:
        if self.fault is None and self.value is None:
            raise ValueError(
                Message(
                    "give a `value` (true, false, `up`, `down`, 0 to 1, or 1 to 5 with `scale` 5) "
                    "or a `fault`"
                )
            )
        if self.fault is not None:
            others = (self.value, self.scale, self.metric, self.statement)
            if any(other is not None for other in others):
                raise ValueError(
                    Message(
                        "a `fault` is about the whole trace: leave `value`, `metric` and "
                        "`statement` out"
                    )
                )
        else:
            rating_of(self.value, self.scale)
        return self

    def feedback(
        self,
        project: str,
        author: str | None,
        created_at: datetime,
        *,
        by_reviewer: bool = False,
    ) -> Feedback:
        """The mark or rating that it is.

        Args:
            project: Tenant.
            author: Who gave it.
            created_at: When.
            by_reviewer: It is a mark even where it names no metric: it was given on a page.
        """
        rating = None if self.fault is not None else rating_of(self.value, self.scale)
        about = (self.fault, self.metric, self.statement)
        is_rating = not by_reviewer and all(part is None for part in about)
        kept = rating if is_rating else None
        return Feedback(
            project=project,
            trace_id=self.trace_id,
            value=float(self.fault is Fault.NONE) if rating is None else rating.value,
            kind=None if kept is None else kept.kind,
            raw_value=None if kept is None else kept.raw_value,
            scale=None if kept is None else kept.scale,
            corrected_answer=self.corrected_answer or None,
            correct_document_ids=tuple(dict.fromkeys(self.correct_document_ids)),
            metric=self.metric,
            statement=self.statement,
            fault=self.fault,
            comment=self.comment or None,
            author=author or None,
            created_at=created_at,
        )
