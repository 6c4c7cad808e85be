"""Faithfulness: how much of an answer its passages support.

`faithfulness` averages over statements; `answer_supported` asks once about the whole answer.
"""

from __future__ import annotations

from dataclasses import replace

from rag_monitor.domain.judgement import Aspect, Judgement, Verdict
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag.outcome import Outcome, not_applicable, read, scored
from rag_monitor.metrics.rag.passages import is_blank, passages_of


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
