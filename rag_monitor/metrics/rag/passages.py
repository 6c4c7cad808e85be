"""Passages: how good the retriever was, and whether it found all that the answer needs.

Contexts known to be empty ("recalled nothing") score 0; contexts that are unknown score nothing.
"""

from __future__ import annotations

from rag_monitor.domain.judgement import Aspect, Judgement, Verdict
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag.outcome import Outcome, not_applicable, read, scored


def passages_of(trace: Trace) -> tuple[str, ...] | None:
    """The passages as a judge must see them: empty for "recalled nothing", None for unknown.

    A passage whose text the sender withheld makes all of them unknown: what it would have
    supported cannot be told. An undivided context block counts as one passage.
    """
    if trace.contexts is not None:
        texts = tuple(d.content for d in trace.contexts if d.content is not None)
        if len(texts) == len(trace.contexts):
            return texts
    return (trace.context_block,) if trace.context_block else None


def is_blank(text: str | None) -> bool:
    """No text, or nothing but white space."""
    return text is None or not text.strip()


def context_relevance(trace: Trace, judgement: Judgement) -> Outcome:
    """Relevant passages / passages."""
    if is_blank(trace.query):
        return not_applicable("no_question")
    return _share(trace, judgement, Aspect.RELEVANCE)


def context_sufficiency(trace: Trace, judgement: Judgement) -> Outcome:
    """P(the contexts hold what a complete answer to the question needs); 0 when they are empty."""
    if is_blank(trace.query):
        return not_applicable("no_question")
    texts = passages_of(trace)
    if texts is None:
        return not_applicable("contexts_unknown")
    if not texts:
        return scored(0.0)
    verdicts = read(judgement, Aspect.SUFFICIENCY, 1)
    if isinstance(verdicts, Outcome):
        return verdicts
    return scored(verdicts[0].probability, verdicts)


def context_utilization(trace: Trace, judgement: Judgement) -> Outcome:
    """Passages the answer actually drew on / passages."""
    if judgement.refusal:
        return not_applicable("refusal")
    if is_blank(trace.answer):
        return not_applicable("empty_answer")
    return _share(trace, judgement, Aspect.USE)


def context_precision(trace: Trace, judgement: Judgement) -> Outcome:
    """Average precision of the useful passages: sum_k (Precision@k * v_k) / sum_k v_k.

    0 when no passage was useful in arriving at the answer. Where there is none nothing can be told:
    an outage of the model is no fault of the retriever.
    """
    if is_blank(trace.answer):
        return not_applicable("empty_answer")
    verdicts = _per_passage(trace, judgement, Aspect.USEFULNESS)
    if isinstance(verdicts, Outcome):
        return verdicts
    return scored(average_precision([verdict.holds for verdict in verdicts]), verdicts)


def average_precision(useful: list[bool]) -> float:
    """sum_k (Precision@k * v_k) / sum_k v_k over ranks from 1; 0 when nothing is useful."""
    relevant = 0
    total = 0.0
    for rank, holds in enumerate(useful, start=1):
        if holds:
            relevant += 1
            total += relevant / rank
    return total / relevant if relevant else 0.0


def _share(trace: Trace, judgement: Judgement, aspect: Aspect) -> Outcome:
    verdicts = _per_passage(trace, judgement, aspect)
    if isinstance(verdicts, Outcome):
        return verdicts
    return scored(sum(verdict.holds for verdict in verdicts) / len(verdicts), verdicts)


def _per_passage(
    trace: Trace, judgement: Judgement, aspect: Aspect
) -> tuple[Verdict, ...] | Outcome:
    texts = passages_of(trace)
    if texts is None:
        return not_applicable("contexts_unknown")
    if not texts:
        return scored(0.0)
    return read(judgement, aspect, len(texts))


def context_recall(trace: Trace, judgement: Judgement) -> Outcome:
    """Key points covered by any passage / key points.

    Key points are the labelled ones, else the statements of the references, else what the judge
    inferred from the question; the last are marked `inferred`.
    """
    expected = trace.expected
    labelled = expected.key_points if expected is not None else None
    references = expected.references if expected is not None else None
    if labelled is not None and not labelled:
        return not_applicable("no_key_points")
    texts = passages_of(trace)
    if texts is None:
        return not_applicable("contexts_unknown")
    inferred = not labelled and not references
    verdicts = read(judgement, Aspect.COVERAGE, len(labelled) if labelled else None)
    if not texts and (not isinstance(verdicts, Outcome) or not inferred):
        return scored(0.0, inferred=inferred)
    if isinstance(verdicts, Outcome):
        return not_applicable("no_key_points") if _none_given(verdicts, inferred) else verdicts
    covered = sum(verdict.holds for verdict in verdicts)
    return scored(covered / len(verdicts), verdicts, inferred=inferred)


def _none_given(outcome: Outcome, inferred: bool) -> bool:
    """A judge that cannot infer key points leaves a trace without labels with none."""
    return inferred and outcome.reason in {"unsupported_aspect", "no_contexts"}
