"""What one metric found on one trace, before it is stamped as a Score."""

from __future__ import annotations

from dataclasses import dataclass

from rag_monitor.domain.judgement import Verdict
from rag_monitor.domain.score import ScoreStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A number with its verdicts, or the reason why there is none."""

    status: ScoreStatus
    value: float | None = None
    reason: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    flagged: bool | None = None
    inferred: bool = False


def scored(
    value: float,
    verdicts: tuple[Verdict, ...] = (),
    *,
    flagged: bool | None = None,
    inferred: bool = False,
) -> Outcome:
    """A number. Rounding errors are clipped into 0 to 1."""
    return Outcome(
        status=ScoreStatus.SCORED,
        value=min(1.0, max(0.0, value)),
        verdicts=verdicts,
        flagged=flagged,
        inferred=inferred,
    )


def not_applicable(reason: str) -> Outcome:
    """The metric has no meaning for this trace."""
    return Outcome(status=ScoreStatus.NOT_APPLICABLE, reason=reason)


def failed(reason: str, verdicts: tuple[Verdict, ...] = ()) -> Outcome:
    """The judge owed a verdict and did not give it."""
    return Outcome(status=ScoreStatus.FAILED, reason=reason, verdicts=verdicts)
