"""The filters and orders of traces and sessions as query parameters: see `domain.filters`."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints

from rag_monitor.domain.fault import Fault
from rag_monitor.domain.filters import (
    BY_NAME,
    FILTERS,
    HitOutcome,
    Order,
    QuestionLanguage,
    TraceSort,
    UserRating,
)
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.schemas.values import Given, KnownMetric, Moment, Name, UserId

MOST_MS: Final = 1e9
GivenId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]+$", strip_whitespace=False),
]
"""Whatever an application calls a thing of its own, blanks at its ends and all."""


def _filter(name: str, **limits: Any) -> Any:
    return Field(default=None, description=BY_NAME[name].help, **limits)


class FilterFields(Given):
    """What both lists take."""

    app: Name | None = _filter("app")
    release: Name | None = _filter("release")
    environment: Name | None = _filter("environment")
    session_id: GivenId | None = _filter("session_id")
    user_id: UserId | None = _filter("user_id")
    tag: GivenId | None = _filter("tag")
    model: Name | None = _filter("model")
    knowledge_base: Name | None = _filter("knowledge_base")
    document: GivenId | None = _filter("document")
    plugin: Name | None = _filter("plugin")
    workflow: Name | None = _filter("workflow")
    outcome: HitOutcome | None = _filter("outcome")
    language: QuestionLanguage | None = _filter("language")
    status: TraceStatus | None = _filter("status")
    latency_above: float | None = _filter("latency_above", ge=0, le=MOST_MS)
    metric: KnownMetric | None = _filter("metric")
    below: float | None = _filter("below", ge=0, le=1.000001)
    above: float | None = _filter("above", ge=0, le=1)
    fault: Fault | None = _filter("fault")
    rating: UserRating | None = _filter("rating")
    refused: bool | None = _filter("refused")
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None
    sort: TraceSort = Field(
        default=TraceSort.TIME,
        description="By when it began, by `latency` to the whole answer, or by the `score` of "
        "`metric`. What has no such value comes last.",
    )
    order: Order = Field(default=Order.DESC, description="Which end comes first.")

    def common(self) -> dict[str, Any]:
        """The fields of a query.

        Raises:
            ProblemError: 422 for filters that contradict one another.
        """
        given = {one.name: getattr(self, one.name) for one in FILTERS}
        for one in FILTERS:
            if one.needs is not None and given[one.name] is not None and given[one.needs] is None:
                raise ProblemError(
                    422,
                    "`{field}` needs `{needed}`: say which score it is about.",
                    field=one.name,
                    needed=one.needs,
                )
        if self.sort is TraceSort.SCORE and self.metric is None:
            raise ProblemError(422, "`sort`: `score` needs `metric`: say which score.")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ProblemError(422, "`above`: must be less than `below`.")
        if self.from_ and self.to and self.from_ >= self.to:
            raise ProblemError(422, "`from`: must be earlier than `to`.")
        return {
            **given,
            "since": self.from_,
            "until": self.to,
            "sort": self.sort,
            "order": self.order,
        }
