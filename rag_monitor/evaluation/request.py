"""From a trace to the one question that is put to a judge."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from rag_monitor.domain.judgement import Aspect, JudgeRequest, KeyPoint, KeyPointSource
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag import citations_of, passages_of

_OF_CITATIONS: Final = frozenset({Aspect.CITED_SUPPORT, Aspect.CITATION})


def build_request(trace: Trace, aspects: Collection[Aspect]) -> JudgeRequest:
    """Everything a judge may know about `trace`, asking for `aspects`.

    Labels other than key points, references and the trace's ids stay out: several of them would
    give the verdict away.
    """
    expected = trace.expected
    return JudgeRequest(
        key=trace.trace_id,
        project=trace.project,
        question=trace.question or "",
        query=trace.query if trace.query != trace.question else None,
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
