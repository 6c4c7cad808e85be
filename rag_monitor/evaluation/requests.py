"""What a judge is told about a trace."""

from __future__ import annotations

from collections.abc import Collection

from rag_monitor.domain.judgement import Aspect, JudgeRequest, KeyPoint, KeyPointSource
from rag_monitor.domain.trace import Expected, Trace


def request_for(trace: Trace, aspects: Collection[Aspect]) -> JudgeRequest:
    """The request that asks `aspects` about a trace.

    Withheld texts become empty strings; contexts keep "recalled nothing" and "unknown" apart. A
    context whose content was withheld is an empty passage, so that indices stay those of the trace.
    """
    expected = trace.expected or Expected()
    return JudgeRequest(
        question=trace.question or "",
        answer=trace.answer or "",
        contexts=_contexts(trace),
        aspects=frozenset(aspects),
        query=None if trace.query == trace.question else trace.query,
        key_points=_key_points(expected),
        references=expected.references or (),
        key=trace.trace_id,
    )


def _contexts(trace: Trace) -> tuple[str, ...] | None:
    if trace.contexts is not None:
        return tuple(document.content or "" for document in trace.contexts)
    return None if trace.context_block is None else (trace.context_block,)


def _key_points(expected: Expected) -> tuple[KeyPoint, ...] | None:
    if expected.key_points is None:
        return None
    return tuple(
        KeyPoint(text=text, source=KeyPointSource.LABELLED) for text in expected.key_points
    )
