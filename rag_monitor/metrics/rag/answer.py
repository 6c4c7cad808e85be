"""Answers: does the answer address the question, or does it decline?

`answer_relevance` is the judge's grade; `answer_relevancy` compares the question with questions
regenerated from the answer. The mean of `refusal` is the refusal rate.
"""

from __future__ import annotations

from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag.outcome import Outcome, failed, not_applicable, read, scored
from rag_monitor.metrics.rag.passages import is_blank, passages_of


def answer_relevance(trace: Trace, judgement: Judgement) -> Outcome:
    """The grade of "does this answer the question, without padding", 0 to 1.

    Declining is the right answer when nothing was recalled: not applicable then.
    """
    if is_blank(trace.answer):
        return not_applicable("empty_answer")
    if is_blank(trace.question):
        return not_applicable("no_question")
    if judgement.refusal and passages_of(trace) == ():
        return not_applicable("refusal_on_empty_contexts")
    verdicts = read(judgement, Aspect.GRADE, 1)
    if isinstance(verdicts, Outcome):
        return verdicts
    return scored(verdicts[0].probability, verdicts)


def answer_relevancy(trace: Trace, judgement: Judgement) -> Outcome:
    """Mean cosine(question, regenerated question), times 0 if the answer is noncommittal.

    A cosine below 0 counts as 0.
    """
    if is_blank(trace.answer):
        return not_applicable("empty_answer")
    if is_blank(trace.question):
        return not_applicable("no_question")
    verdicts = read(judgement, Aspect.QUESTION_SIMILARITY)
    if isinstance(verdicts, Outcome):
        return verdicts
    flags = judgement.of(Aspect.NONCOMMITTAL)
    unknown = judgement.missing.get(Aspect.NONCOMMITTAL)
    if unknown is not None and not judgement.refusal and not flags:
        return failed(unknown, verdicts)
    if judgement.refusal or any(flag.holds for flag in flags):
        return scored(0.0, verdicts + flags)
    cosines = [max(0.0, verdict.probability) for verdict in verdicts]
    return scored(sum(cosines) / len(cosines), verdicts + flags)


def refusal(trace: Trace, judgement: Judgement) -> Outcome:
    """1 when the answer declines, else 0. Larger is not better."""
    if is_blank(trace.answer):
        return not_applicable("empty_answer")
    return scored(float(judgement.refusal), judgement.of(Aspect.NONCOMMITTAL))
