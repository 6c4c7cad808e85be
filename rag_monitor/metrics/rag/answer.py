"""Metrics of the answer: does it address the question, do its passages support it, does it sum up?

`answer_relevance` is the judge's grade; `answer_relevancy` compares the question with questions
regenerated from the answer. The mean of `refusal` is the refusal rate. `faithfulness` averages over
statements; `answer_supported` asks once about the whole answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rag_monitor.domain.judgement import Aspect, Judgement, Verdict
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


def faithfulness(trace: Trace, judgement: Judgement) -> Outcome:
    """Mean over statements of P(supported by the contexts).

    Contexts known to be empty support nothing: 0 when the answer still makes statements.
    """
    blocked = _blocked(trace, judgement)
    if blocked is not None:
        return blocked
    verdicts = read(judgement, Aspect.SUPPORT)
    if isinstance(verdicts, Outcome):
        return _without_passages(trace, verdicts)
    if not passages_of(trace):
        return scored(0.0, tuple(_unsupported(verdict) for verdict in verdicts))
    return scored(sum(v.probability for v in verdicts) / len(verdicts), verdicts)


def answer_supported(trace: Trace, judgement: Judgement) -> Outcome:
    """P(no statement is unsupported), calibrated at answer level.

    Flagged below the threshold that is stored with the judge's calibration.
    """
    blocked = _blocked(trace, judgement)
    if blocked is not None:
        return blocked
    verdicts = read(judgement, Aspect.ANSWER_SUPPORTED, 1)
    if isinstance(verdicts, Outcome):
        outcome = _without_passages(trace, verdicts)
        return replace(outcome, flagged=True) if outcome.value is not None else outcome
    if not passages_of(trace):
        return scored(0.0, (_unsupported(verdicts[0]),), flagged=True)
    value = verdicts[0].probability
    return scored(value, verdicts, flagged=value < judgement.threshold)


def _blocked(trace: Trace, judgement: Judgement) -> Outcome | None:
    if judgement.refusal:
        return not_applicable("refusal")
    if is_blank(trace.answer):
        return not_applicable("empty_answer")
    if passages_of(trace) is None:
        return not_applicable("contexts_unknown")
    return None


def _without_passages(trace: Trace, outcome: Outcome) -> Outcome:
    """A judge that gives up for want of passages has still seen an answer that claims things."""
    return scored(0.0) if outcome.reason == "no_contexts" and not passages_of(trace) else outcome


def _unsupported(verdict: Verdict) -> Verdict:
    return replace(verdict, probability=0.0, evidence=None, reason=verdict.reason or "no_contexts")


CONCISENESS_SHARE: Final = 0.5
"""c in QA * (1 - c) + conciseness * c."""


def summary_score(trace: Trace, judgement: Judgement, share: float = CONCISENESS_SHARE) -> Outcome:
    """QA * (1 - c) + conciseness * c.

    QA is the share of key-phrase questions the summary answers; conciseness is
    1 - min(len(summary), len(context)) / (len(context) + 1e-10), in characters.

    Args:
        trace: Its answer is the summary, its contexts are what it sums up.
        judgement: Which of the questions the summary answers.
        share: c, from 0 (length does not count) to 1.
    """
    texts = passages_of(trace)
    answer = trace.answer
    if not texts:
        return not_applicable("no_contexts" if texts is not None else "contexts_unknown")
    if answer is None or is_blank(answer):
        return not_applicable("empty_answer")
    verdicts = read(judgement, Aspect.SUMMARY_QUESTION)
    if isinstance(verdicts, Outcome):
        return verdicts
    answered = sum(verdict.holds for verdict in verdicts) / len(verdicts)
    value = summary_value(answered, len(answer), len("\n".join(texts)), share)
    return scored(value, verdicts)


def summary_value(
    answered: float, summary_length: int, text_length: int, share: float = CONCISENESS_SHARE
) -> float:
    """QA * (1 - c) + conciseness * c, from the share of answered questions and two lengths."""
    conciseness = 1.0 - min(summary_length, text_length) / (text_length + 1e-10)
    return answered * (1.0 - share) + conciseness * share
