"""Facts, and rollups held in memory as the store would hold them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.rollup import Rollup, RollupQuery, TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.window import Series, Window
from rag_monitor.testing import EPOCH, make_trace

EMBEDDED = JudgeIdentity(name="embedded", model="full", prompts="1")
LEXICAL = JudgeIdentity(name="embedded-lexical", model="lexical", prompts="1")
BIG = JudgeIdentity(name="openai_compatible", model="big", prompts="1")

HOUR = Window(EPOCH, EPOCH + timedelta(hours=1))


class MemoryRollups:
    """A rollup source over a list of facts."""

    def __init__(self, facts: Sequence[TraceFacts]) -> None:
        self.rows = summarise(facts)

    def load(self, wanted: RollupQuery) -> list[Rollup]:
        window = wanted.window
        return [
            row
            for row in self.rows
            if window.start <= row.key.minute < window.end and wanted.wants(row.key)
        ]

    def load_sums(self, wanted: RollupQuery, step: timedelta | None = None) -> list[Rollup]:
        return self.load(wanted)


def value(
    number: float | None,
    *,
    metric: str = "faithfulness",
    judge: JudgeIdentity = EMBEDDED,
    status: ScoreStatus = ScoreStatus.SCORED,
    reason: str | None = None,
    flagged: bool | None = None,
) -> Score:
    return Score(
        metric=metric, status=status, value=number, judge=judge, reason=reason, flagged=flagged
    )


def facts(
    *scores: Score,
    at: datetime = EPOCH,
    probabilities: dict[str, float] | None = None,
    **fields: object,
) -> TraceFacts:
    return TraceFacts(
        trace=make_trace(started_at=at, **fields),  # type: ignore[arg-type]
        scores=scores,
        probabilities=probabilities or {},
    )


def series(judge: str = "combined", metric: str = "faithfulness", **fields: str) -> Series:
    return Series(project="default", app="test-app", metric=metric, judge=judge, **fields)


def over(*given: TraceFacts) -> Estimates:
    """Estimates of these facts."""
    return Estimates(MemoryRollups(given))
