"""Scores of other tools as the API gives them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rag_monitor.domain.score import ReportedScore, ReportedSessionScore
from rag_monitor.server.schemas.values import Wire, finite


class ReportedScoreOut(Wire):
    """A score that another tool gave; it enters none of our estimates."""

    source: str = Field(
        description="The tool: its instrumentation scope, else its `service.name`.",
        examples=["ragas-nightly"],
    )
    name: str = Field(description="The metric as the tool calls it.", examples=["faithfulness"])
    span_id: str | None = Field(description="The span it is about; null: all of it.")
    value: float | None = Field(description="On the tool's own scale.")
    label: str | None = Field(examples=["pass"])
    explanation: str | None
    error: str | None = Field(description="Why the tool could not tell.", examples=["timeout"])
    reported_at: datetime

    @classmethod
    def from_domain(cls, score: ReportedScore | ReportedSessionScore) -> ReportedScoreOut:
        """The score as it goes out."""
        span_id = score.span_id if isinstance(score, ReportedScore) else ""
        return cls(
            source=score.source,
            name=score.name,
            span_id=span_id or None,
            value=finite(score.value),
            label=score.label,
            explanation=score.explanation,
            error=score.error,
            reported_at=score.reported_at,
        )
