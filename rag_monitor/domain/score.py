"""A Score: one metric's number for one trace, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rag_monitor.domain.judgement import JudgeIdentity, Verdict


class ScoreStatus(StrEnum):
    """Whether there is a number. Only `SCORED` values enter a mean."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    """The metric has no meaning for this trace."""
    FAILED = "failed"
    """It should have a value, but the judge gave none."""
    SUSPECT = "suspect"
    """The text tried to influence the judge; counts as the worst case in lower bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One metric for one revision of one trace by one judge."""

    metric: str
    status: ScoreStatus
    value: float | None = None
    """0 to 1, larger is better; None unless scored (or suspect, where it is what was read)."""
    reason: str | None = None
    """Why there is no value; a stable machine word."""
    detail: str | None = None
    """Of a failed one, the sentence of the judge's server or of the reader of its reply: one line,
    without secrets."""
    flagged: bool | None = None
    """`answer_supported` only: below the judge's threshold."""
    judge: JudgeIdentity | None = None
    """None for metrics that need no judge."""
    verdicts: tuple[Verdict, ...] = ()
    created_at: datetime | None = None
    inferred: bool = False
    """The key points behind it were inferred by the judge."""
