"""Context recall: did the retriever find everything the answer needs?"""

from __future__ import annotations

from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag.outcome import Outcome, not_applicable, scored
from rag_monitor.metrics.rag.passages import passages_of
from rag_monitor.metrics.rag.verdicts import read


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
