"""Live metrics of a RAG trace: arithmetic from a judge's verdicts to scores."""

from rag_monitor.metrics.rag.citations import NO_CITATIONS, citations_of
from rag_monitor.metrics.rag.passages import passages_of
from rag_monitor.metrics.rag.scoring import (
    BAD_BELOW,
    DEFAULT_SCORING,
    LIVE_METRICS,
    METRICS,
    ScoringOptions,
    aspects_for,
    failed_scores,
    is_bad,
    score_trace,
    sentence_of,
)

__all__ = [
    "BAD_BELOW",
    "DEFAULT_SCORING",
    "LIVE_METRICS",
    "METRICS",
    "NO_CITATIONS",
    "ScoringOptions",
    "aspects_for",
    "citations_of",
    "failed_scores",
    "is_bad",
    "passages_of",
    "score_trace",
    "sentence_of",
]
