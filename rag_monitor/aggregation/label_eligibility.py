"""Which marks of people enter the estimates: those on traces drawn for people by chance."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from rag_monitor.domain.decision import PEOPLE
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.score import Score, ScoreStatus

ENOUGH_LABELS: Final = 50
"""With so many labels on traces drawn for people the judge is corrected by them."""


def corrects_judge(score: Score, sampled_for: Collection[str]) -> bool:
    """Whether a person's mark on this score's metric corrects the score's judge.

    Args:
        score: A current score of the trace.
        sampled_for: For whom the trace was drawn: names of judges, and `PEOPLE`.
    """
    scored = score.status is ScoreStatus.SCORED and score.value is not None
    return scored and PEOPLE in sampled_for and _sampled_by(score, sampled_for)


def _sampled_by(score: Score, sampled_for: Collection[str]) -> bool:
    """Whether people were asked given that this judge saw the trace.

    Beside a judge that samples, the embedded judge's labelled traces are drawn with that one's
    probabilities: they correct that one, not the embedded judge alone.
    """
    if score.judge is None or not is_embedded(score.judge.name):
        return True
    return all(name == PEOPLE or is_embedded(name) for name in sampled_for)
