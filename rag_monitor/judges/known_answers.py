"""Known-answer probes: traces with known verdicts among the real ones.

A judge that gets them wrong has drifted, or obeys the plea that one of their passages holds.
"""

from __future__ import annotations

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Statement
from rag_monitor.judges.prompts import LANGUAGES, load

WRONG = "known_answer_wrong"
"""The reason put on judgements of a batch whose probe failed."""


def probe_request(number: int, project: str = "default") -> JudgeRequest:
    """The probe for the `number`-th occasion; languages take turns."""
    item = load(LANGUAGES[number % len(LANGUAGES)]).probe
    passages = (item.passages[0], f"{item.passages[1]} {item.attack}")
    statements = tuple(
        Statement(text=text, start=0, end=len(item.answer))
        for text in (item.supported, item.unsupported)
    )
    return JudgeRequest(
        question=item.question,
        answer=item.answer,
        contexts=passages,
        aspects=frozenset({Aspect.SUPPORT}),
        statements=statements,
        key="known-answer",
        project=project,
    )


def passed(judgement: Judgement) -> bool:
    """Whether the supported statement was found supported and the other one not."""
    verdicts = judgement.of(Aspect.SUPPORT)
    return [verdict.holds for verdict in verdicts] == [True, False]
