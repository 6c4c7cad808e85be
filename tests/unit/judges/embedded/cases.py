"""Small question-passage-answer cases written for the tests, in both languages."""

from __future__ import annotations

from functools import cache

from rag_monitor.domain.judgement import (
    Aspect,
    Judgement,
    JudgeRequest,
    KeyPoint,
    KeyPointSource,
)
from rag_monitor.judges.embedded import EmbeddedJudge, create, create_lexical
from rag_monitor.judges.embedded.judge import ASPECTS

VARIANTS = {"full": create, "lexical": create_lexical}
ASKED = ["full"]
"""The variant that is asked stands last."""


@cache
def variant(name: str) -> EmbeddedJudge:
    """A variant as it is shipped."""
    return VARIANTS[name]({})


def judge() -> EmbeddedJudge:
    """The variant a test is about."""
    return variant(ASKED[-1])


def judged(
    question: str,
    contexts: tuple[str, ...] | None,
    answer: str,
    key_points: tuple[str, ...] = (),
    aspects: frozenset[Aspect] = ASPECTS,
    references: tuple[str, ...] = (),
) -> Judgement:
    """What the embedded judge says."""
    points = tuple(KeyPoint(text=p, source=KeyPointSource.LABELLED) for p in key_points) or None
    return judge().judge_one(
        JudgeRequest(
            question=question,
            answer=answer,
            contexts=contexts,
            aspects=aspects,
            key_points=points,
            references=references,
        )
    )


def holds(judgement: Judgement, aspect: Aspect) -> list[int]:
    """The hard verdicts of one aspect."""
    return [int(verdict.holds) for verdict in judgement.of(aspect)]


def faithfulness(judgement: Judgement) -> float:
    """Mean support of the statements."""
    verdicts = judgement.of(Aspect.SUPPORT)
    return sum(verdict.probability for verdict in verdicts) / len(verdicts)


def passes(found: Judgement) -> bool:
    """Whether the answer as a whole is held supported."""
    [whole] = found.of(Aspect.ANSWER_SUPPORTED)
    return whole.probability >= (found.threshold or 0.5)


def reasons(found: Judgement) -> list[str]:
    """Why each statement is supported or not, in order."""
    return [verdict.reason or "" for verdict in found.of(Aspect.SUPPORT)]
