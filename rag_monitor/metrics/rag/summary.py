"""Summary score: does a summary keep what matters, and is it short?"""

from __future__ import annotations

from typing import Final

from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag.outcome import Outcome, not_applicable, read, scored
from rag_monitor.metrics.rag.passages import is_blank, passages_of

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
