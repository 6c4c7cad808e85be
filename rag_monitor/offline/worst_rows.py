"""Keeps the rows with the lowest values, with the statements a judge found unsupported."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from typing import Final

from rag_monitor.domain.judgement import Aspect, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.rag import passages_of
from rag_monitor.offline.dataset import RowResult
from rag_monitor.offline.report.model import Stretch, WorstRow

_ORDERED_BY: Final = (
    "faithfulness",
    "answer_supported",
    "answer_correctness",
    "answer_relevance",
    "rouge_l",
    "token_f1",
    "bleu_4",
    "ndcg",
    "context_precision",
)
_CANDIDATES: Final = 3
_TEXT: Final = 4_000
_PASSAGE: Final = 1_500
_PASSAGES: Final = 10


class WorstRows:
    """The `size` rows with the lowest value of the first telling metric.

    Args:
        metrics: What is computed.
        size: Rows to keep.
    """

    def __init__(self, metrics: Sequence[str], size: int = 10) -> None:
        self._names = [name for name in _ORDERED_BY if name in metrics][:_CANDIDATES]
        self._heaps: dict[str, list[tuple[float, int, RowResult]]] = {n: [] for n in self._names}
        self._size = size
        self._tie = itertools.count()

    def add(self, result: RowResult) -> None:
        """Keep the row if it is among the worst so far."""
        for score in result.scores:
            heap = self._heaps.get(score.metric)
            if heap is None or score.status is not ScoreStatus.SCORED or score.value is None:
                continue
            # Among equals the first stays; a heap of negatives has the best of the worst on top.
            entry = (-score.value, -next(self._tie), result)
            if len(heap) < self._size:
                heapq.heappush(heap, entry)
            elif entry > heap[0]:
                heapq.heapreplace(heap, entry)

    def report(self) -> tuple[str | None, tuple[WorstRow, ...]]:
        """The metric they were chosen by, and the rows, worst first; perfect ones are left out."""
        for name in self._names:
            entries = sorted(self._heaps[name], reverse=True)
            rows = [_row(-value, result) for value, _, result in entries if -value < 1.0]
            if rows:
                return name, tuple(rows)
        return None, ()


def _row(value: float, result: RowResult) -> WorstRow:
    trace = result.row.trace if result.row else None
    if trace is None:
        raise ValueError("a scored row has a trace")
    passages = passages_of(trace) or ()
    expected = trace.expected
    references = (expected.references or ()) if expected else ()
    long = [len(trace.answer or "") > _TEXT, len(passages) > _PASSAGES]
    return WorstRow(
        id=result.id or "",
        value=value,
        question=_short(trace.question, _TEXT),
        answer=_stretches(trace, result.scores),
        passages=tuple(_short(p, _PASSAGE) or "" for p in passages[:_PASSAGES]),
        reference=_short(" / ".join(references), _TEXT) or None,
        scores={
            score.metric: score.value
            for score in result.scores
            if score.value is not None and score.status is ScoreStatus.SCORED
        },
        faithful=expected.faithful if expected else None,
        cut=any(long) or any(len(p) > _PASSAGE for p in passages),
    )


def _short(text: str | None, limit: int) -> str | None:
    return text if text is None or len(text) <= limit else text[:limit] + "…"


def _stretches(trace: Trace, scores: Sequence[Score]) -> tuple[Stretch, ...]:
    """The answer cut at the judged statements; overlapping ones keep the first."""
    answer = (trace.answer or "")[:_TEXT]
    verdicts = [
        verdict
        for score in scores
        if score.metric == "faithfulness"
        for verdict in score.verdicts
        if verdict.aspect is Aspect.SUPPORT
    ]
    pieces: list[Stretch] = []
    done = 0
    for start, end, verdict in sorted(_placed(answer, verdicts), key=lambda item: item[:2]):
        if start < done:
            continue
        if start > done:
            pieces.append(Stretch(text=answer[done:start]))
        pieces.append(
            Stretch(text=answer[start:end], probability=verdict.probability, reason=verdict.reason)
        )
        done = end
    if done < len(answer):
        pieces.append(Stretch(text=answer[done:]))
    return tuple(pieces)


def _placed(answer: str, verdicts: Sequence[Verdict]) -> list[tuple[int, int, Verdict]]:
    placed = []
    for verdict in verdicts:
        start, end = verdict.start, verdict.end
        if start is None or end is None:
            start = answer.find(verdict.text) if verdict.text else -1
            end = start + len(verdict.text)
        if 0 <= start < min(end, len(answer)):
            placed.append((start, min(end, len(answer)), verdict))
    return placed
