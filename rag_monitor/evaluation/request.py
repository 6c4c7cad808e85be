"""From a trace to the one question that is put to a judge."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from rag_monitor.domain.conversation import EarlierTurn, last_turns
from rag_monitor.domain.judgement import Aspect, JudgeRequest, KeyPoint, KeyPointSource
from rag_monitor.domain.trace import Trace
from rag_monitor.language.follow_ups import depends_on_history
from rag_monitor.metrics.rag import citations_of, passages_of

_OF_CITATIONS: Final = frozenset({Aspect.CITED_SUPPORT, Aspect.CITATION})


def continues(trace: Trace) -> bool:
    """Whether it takes the turns before a trace to understand its question."""
    return trace.question is not None and depends_on_history(trace.question)


def history_of(trace: Trace) -> tuple[EarlierTurn, ...]:
    """The turns that a trace tells of itself, cut for a judge; none where it stands alone."""
    return last_turns(trace.history) if trace.history and continues(trace) else ()


def build_request(
    trace: Trace, aspects: Collection[Aspect], history: Sequence[EarlierTurn] | None = None
) -> JudgeRequest:
    """Everything a judge may know about `trace`, asking for `aspects`.

    Labels other than key points, references and the trace's ids stay out: several of them would
    give the verdict away.

    Args:
        trace: What is judged.
        aspects: What is asked.
        history: The turns that are given with its question; None: those that it tells of itself.
    """
    expected = trace.expected
    return JudgeRequest(
        key=trace.trace_id,
        project=trace.project,
        question=trace.question or "",
        query=trace.query if trace.query != trace.question else None,
        history=history_of(trace) if history is None else tuple(history),
        answer=trace.answer or "",
        contexts=passages_of(trace),
        aspects=frozenset(aspects),
        key_points=_key_points(trace),
        citations=None if _OF_CITATIONS.isdisjoint(aspects) else citations_of(trace),
        references=(expected.references or ()) if expected else (),
    )


def _key_points(trace: Trace) -> tuple[KeyPoint, ...] | None:
    if trace.expected is None or trace.expected.key_points is None:
        return None
    return tuple(
        KeyPoint(text=text, source=KeyPointSource.LABELLED) for text in trace.expected.key_points
    )
