"""What one metric gives on one trace, and how the verdicts of an aspect are read.

Reading tells "none needed" from "none given": a verdict that is missing after the judge was asked
again makes the score failed (DESIGN section 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from rag_monitor.domain.judgement import Aspect, Judgement, Verdict
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


NOT_NEEDED: Final = frozenset(
    {
        "unsupported_aspect",
        "no_statements",
        "no_key_points",
        "no_key_phrases",
        "no_embedder",
        "no_generator",
        "no_contexts",
        "no_citations",
        "contexts_unknown",
        "languages_differ",
        "empty_answer",
        "no_answer",
        "refusal",
    }
)
"""Reasons in `Judgement.missing` that mean "the question has no meaning here". Others: failed."""

VERDICT_MISSING: Final = "verdict_missing"


def read(
    judgement: Judgement, aspect: Aspect, expected: int | None = None
) -> tuple[Verdict, ...] | Outcome:
    """The verdicts of `aspect` in order, or why the metric has no value.

    Args:
        judgement: What the judge said.
        aspect: Which question.
        expected: How many verdicts there must be; None: at least one, without gaps.
    """
    reason = judgement.missing.get(aspect)
    if reason is not None:
        return absent(reason)
    verdicts = judgement.of(aspect)
    count = len(verdicts) if expected is None else expected
    if not verdicts or [verdict.index for verdict in verdicts] != list(range(count)):
        return failed(VERDICT_MISSING, verdicts)
    if not all(_sound(verdict) for verdict in verdicts):
        return failed("verdict_invalid", verdicts)
    return verdicts


def absent(reason: str) -> Outcome:
    """The outcome of an aspect the judge left out for `reason`."""
    return not_applicable(reason) if reason in NOT_NEEDED else failed(reason)


def _sound(verdict: Verdict) -> bool:
    if verdict.aspect is Aspect.QUESTION_SIMILARITY:
        return math.isfinite(verdict.probability)
    return 0.0 <= verdict.probability <= 1.0
