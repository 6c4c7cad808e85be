"""Refusals: answers that decline to answer. Their mean is the refusal rate."""

from __future__ import annotations

from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag.outcome import Outcome, not_applicable, scored
from rag_monitor.metrics.rag.passages import is_blank


def refusal(trace: Trace, judgement: Judgement) -> Outcome:
    """1 when the answer declines, else 0. Larger is not better."""
    if is_blank(trace.answer):
        return not_applicable("empty_answer")
    return scored(float(judgement.refusal), judgement.of(Aspect.NONCOMMITTAL))
