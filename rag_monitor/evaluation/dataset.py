"""Runs a judge and the metrics over the rows of a file, in order, a few at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import JudgeError
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.judge import Judge
from rag_monitor.metrics.rag import LIVE_METRICS, aspects_for, score_trace

_BATCH: Final = 32
_FLAG_METRIC: Final = "answer_supported"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRow:
    """One row of a file: a trace, or the reason why it is none."""

    id: str | None
    """The row's own id, or its line number as text."""
    trace: Trace | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """What came out for one row."""

    id: str | None
    scores: tuple[Score, ...] = ()
    error: str | None = None
    """Why the row, or the judge on it, failed altogether."""


def metrics_of(judge: Judge) -> tuple[str, ...]:
    """The live metrics whose questions this judge can all answer."""
    return tuple(name for name in LIVE_METRICS if aspects_for([name]) <= judge.aspects)


async def evaluate_rows(
    rows: Iterable[DatasetRow], judge: Judge, metrics: Sequence[str], batch: int = _BATCH
) -> AsyncIterator[RowResult]:
    """One result per row, in the order of the rows; nothing but one batch is held in memory.

    Args:
        rows: Read as results are taken.
        judge: Asked with `judge_many`, one batch after the other.
        metrics: Names of live metrics.
        batch: Rows per call of the judge.

    Raises:
        UnknownMetric: One of the names is not a live metric.
    """
    aspects = aspects_for(metrics)
    for group in _grouped(iter(rows), batch):
        traces = [row.trace for row in group if row.trace is not None]
        answers = iter(await judge.judge_many([build_request(trace, aspects) for trace in traces]))
        for row in group:
            if row.trace is None:
                yield RowResult(id=row.id, error=row.error or "not a trace")
                continue
            answer = next(answers)
            if isinstance(answer, Exception):
                yield RowResult(id=row.id, error=_reason(answer))
            else:
                scores = score_trace(row.trace, answer, metrics, None)
                yield RowResult(id=row.id, scores=tuple(scores))


def as_line(result: RowResult, metrics: Sequence[str]) -> dict[str, Any]:
    """A result in the shape of `evaluate --output`; a metric without a number is null."""
    by_name = {score.metric: score for score in result.scores}
    line: dict[str, Any] = {
        "id": result.id,
        "scores": {name: _number(by_name.get(name)) for name in metrics},
        "flagged": by_name[_FLAG_METRIC].flagged if _FLAG_METRIC in by_name else None,
        "not_applicable": _reasons(by_name, ScoreStatus.NOT_APPLICABLE),
        "failed": _reasons(by_name, ScoreStatus.FAILED),
        "suspect": _reasons(by_name, ScoreStatus.SUSPECT),
    }
    if result.error is not None:
        line["failed"] = dict.fromkeys(metrics, result.error)
    return line


def _grouped(rows: Iterator[DatasetRow], size: int) -> Iterator[list[DatasetRow]]:
    while group := list(islice(rows, size)):
        yield group


def _number(score: Score | None) -> float | None:
    return score.value if score is not None and score.status is ScoreStatus.SCORED else None


def _reasons(scores: Mapping[str, Score], status: ScoreStatus) -> dict[str, str]:
    return {
        name: score.reason or status.value
        for name, score in scores.items()
        if score.status is status
    }


def _reason(error: Exception) -> str:
    return error.reason if isinstance(error, JudgeError) else f"{type(error).__name__}: {error}"
