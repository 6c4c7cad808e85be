"""Latencies of a file's rows: a score per row, in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rag_monitor.domain.score import Score
from rag_monitor.domain.trace import Trace
from rag_monitor.ingest.trace_encoding import TIMINGS
from rag_monitor.metrics.latency import PERCENTILES
from rag_monitor.offline.reference_scores import make_score

LATENCY_METRICS: Final = TIMINGS
"""Names of the timings of a trace, milliseconds."""


def percentile_names() -> list[str]:
    """`end_to_end_ms_p50` and so on."""
    return [f"{metric}_{name}" for metric in LATENCY_METRICS for name in PERCENTILES]


class LatencyScorer:
    """The measured times of rows.

    Args:
        metrics: Names of `LATENCY_METRICS`.
    """

    def __init__(self, metrics: Sequence[str]) -> None:
        self.metrics = tuple(metrics)

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | str]:
        """Looks them up; done at once."""
        return [[self._one(trace, name) for name in self.metrics] for trace in traces]

    def _one(self, trace: Trace, name: str) -> Score:
        value: float | None = getattr(trace.timings, name)
        return make_score(name, "not_measured" if value is None else value)
