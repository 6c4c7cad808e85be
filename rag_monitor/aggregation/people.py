"""Which marks of people enter the estimates: those on traces drawn for people by chance."""

from __future__ import annotations

from collections.abc import Collection

from rag_monitor.domain.decision import PEOPLE
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.score import Score, ScoreStatus


def corrects(score: Score, drawn: Collection[str]) -> bool:
    """Whether a person's mark on this score's metric corrects the score's judge.

    Args:
        score: A current score of the trace.
        drawn: For whom the trace was drawn: names of judges, and `PEOPLE`.
    """
    scored = score.status is ScoreStatus.SCORED and score.value is not None
    return scored and PEOPLE in drawn and _drawn_by(score, drawn)


def _drawn_by(score: Score, drawn: Collection[str]) -> bool:
    """Whether people were asked given that this judge saw the trace.

    Beside a judge that samples, the embedded judge's labelled traces are drawn with that one's
    probabilities: they correct that one, not the embedded judge alone.
    """
    if score.judge is None or not is_embedded(score.judge.name):
        return True
    return all(name == PEOPLE or is_embedded(name) for name in drawn)
