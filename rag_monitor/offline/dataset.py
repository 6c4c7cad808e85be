"""Runs scorers over the rows of a file: in order, a few chunks at a time, nothing else in memory.

A scorer that is slow (a judge) and one that uses other cores (text metrics) work on the same rows
at the same time; results come out in the order of the rows whatever finishes first.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Protocol

from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import JudgeError
from rag_monitor.evaluation.request import build_request
from rag_monitor.i18n import Message
from rag_monitor.judges.judge import Judge
from rag_monitor.metrics.rag import (
    DEFAULT_SCORING,
    METRICS,
    ScoringOptions,
    aspects_for,
    score_trace,
    sentence_of,
)

_BATCH: Final = 32
_AHEAD: Final = 4
_FLAG_METRIC: Final = "answer_supported"
_QUESTION_CHARS: Final = 300
"""So many characters of a question tell which row it is."""
_NOT_BY_DEFAULT: Final = frozenset({"summary_score"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRow:
    """One row of a file: a trace, or the reason why it is none."""

    id: str | None
    """The row's own id, else its trace id, else its place in the file (`#3`), as text."""
    trace: Trace | None = None
    error: str | None = None
    fingerprint: str | None = None
    """Of all that the file says in this row; None: not taken."""
    facets: Mapping[str, str] = field(default_factory=dict)
    """What a report may group by: app, dataset, lang, model …"""
    reported: Mapping[str, float] = field(default_factory=dict)
    """Scores of other tools that the file brings."""
    unread: tuple[str, ...] = ()
    """Passages that were left out because they cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """What came out for one row."""

    id: str | None
    scores: tuple[Score, ...] = ()
    error: str | None = None
    """Why the row, or the judge on it, failed altogether."""
    row: DatasetRow | None = None
    """What was scored."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why all scores of a scorer failed on one trace."""

    reason: str
    """A stable machine word, where there is one."""
    detail: str | None = None
    """What the judge's server or the reader of its reply said."""


class Scorer(Protocol):
    """Gives numbers to rows; one failure never spoils its neighbours."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it scores, in order."""
        ...

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | Failure | str]:
        """Per trace its scores, or why all of them failed."""
        ...


class JudgeScorer:
    """The judge's metrics. Asks one batch after the other, whoever waits."""

    def __init__(
        self, judge: Judge, metrics: Sequence[str], options: ScoringOptions = DEFAULT_SCORING
    ) -> None:
        self._judge = judge
        self._options = options
        self._aspects = aspects_for(metrics)
        self._turn = asyncio.Lock()
        self.metrics = tuple(metrics)

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | Failure]:
        """Every trace is one request, whatever the number of metrics."""
        async with self._turn:
            requests = [build_request(trace, self._aspects) for trace in traces]
            answers = await self._judge.judge_many(requests)
        return [
            failure_of(answer)
            if isinstance(answer, Exception)
            else score_trace(trace, answer, self.metrics, None, self._options)
            for trace, answer in zip(traces, answers, strict=True)
        ]


def metrics_of(judge: Judge, wanted: Collection[str] = ()) -> tuple[str, ...]:
    """The live metrics whose questions this judge can all answer.

    Args:
        judge: Who answers.
        wanted: Metrics that are computed only when somebody wants them.
    """
    return tuple(
        name
        for name in METRICS
        if (name not in _NOT_BY_DEFAULT or name in wanted) and aspects_for([name]) <= judge.aspects
    )


async def run_rows(
    rows: Iterable[DatasetRow],
    scorers: Sequence[Scorer],
    *,
    batch: int = _BATCH,
    ahead: int = _AHEAD,
) -> AsyncIterator[RowResult]:
    """One result per row, in the order of the rows, with the scores of all scorers.

    Args:
        rows: Read as results are taken.
        scorers: All of them see every row.
        batch: Rows per call of a scorer.
        ahead: Batches in flight at once; what bounds memory.
    """
    waiting: deque[asyncio.Task[list[RowResult]]] = deque()
    try:
        for group in _grouped(iter(rows), batch):
            waiting.append(asyncio.create_task(_score(group, scorers)))
            if len(waiting) >= ahead:
                for result in await waiting.popleft():
                    yield result
        while waiting:
            for result in await waiting.popleft():
                yield result
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _score(group: Sequence[DatasetRow], scorers: Sequence[Scorer]) -> list[RowResult]:
    traces = [row.trace for row in group if row.trace is not None]
    columns = await asyncio.gather(*(scorer.score(traces) for scorer in scorers))
    rows = iter(zip(*columns, strict=True)) if columns else iter([()] * len(traces))
    return [
        RowResult(id=row.id, error=row.error or Message("not a trace"), row=row)
        if row.trace is None
        else _joined(row, next(rows), scorers)
        for row in group
    ]


def _joined(
    row: DatasetRow, parts: Sequence[Sequence[Score] | Failure | str], scorers: Sequence[Scorer]
) -> RowResult:
    scores: list[Score] = []
    errors: list[str] = []
    for part, scorer in zip(parts, scorers, strict=True):
        failure = Failure(part) if isinstance(part, str) else part
        if isinstance(failure, Failure):
            errors.append(failure.detail or failure.reason)
            scores.extend(
                Score(
                    metric=name,
                    status=ScoreStatus.FAILED,
                    reason=failure.reason,
                    detail=failure.detail,
                )
                for name in scorer.metrics
            )
        else:
            scores.extend(failure)
    return RowResult(id=row.id, scores=tuple(scores), error=_joined_reasons(errors), row=row)


def _joined_reasons(reasons: Sequence[str]) -> str | None:
    whole: str | None = None
    for reason in reasons:
        whole = reason if whole is None else Message("{one}; {other}", one=whole, other=reason)
    return whole


def as_line(
    result: RowResult,
    metrics: Sequence[str],
    judge: str | None = None,
    settings: str | None = None,
) -> dict[str, Any]:
    """A result in the shape of `evaluate --output`; a metric without a number is null."""
    by_name = {score.metric: score for score in result.scores}
    line: dict[str, Any] = {
        "id": result.id,
        "input": result.row.fingerprint if result.row is not None else None,
        "scores": {name: _number(by_name.get(name)) for name in metrics},
        "flagged": by_name[_FLAG_METRIC].flagged if _FLAG_METRIC in by_name else None,
        "not_applicable": _reasons(by_name, ScoreStatus.NOT_APPLICABLE),
        "failed": _reasons(by_name, ScoreStatus.FAILED),
        "suspect": _reasons(by_name, ScoreStatus.SUSPECT),
        "reported": dict(result.row.reported) if result.row is not None else {},
        "judge": judge,
        "settings": settings,
        "detail": next((score.detail for score in result.scores if score.detail), None),
        "question": _question(result.row),
    }
    if result.error is not None and not result.scores:
        line["failed"] = dict.fromkeys(metrics, result.error)
    return line


def _question(row: DatasetRow | None) -> str | None:
    """The beginning of the question: a comparison names the rows that lost by it."""
    trace = row.trace if row is not None else None
    return trace.question[:_QUESTION_CHARS] if trace is not None and trace.question else None


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


def failure_of(error: Exception) -> Failure:
    """What an error of a judge becomes in a row."""
    sentence = sentence_of(error)
    return Failure(error.reason, sentence) if isinstance(error, JudgeError) else Failure(sentence)
