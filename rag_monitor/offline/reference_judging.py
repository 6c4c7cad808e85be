"""Answer correctness and noise sensitivity: a judge asked about references instead of passages.

The question is always "is this statement supported by that text": answer by reference, reference
by answer, and (noise) both by every passage alone. So any judge with the support aspect will do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import NotApplicable
from rag_monitor.judges.judge import Judge
from rag_monitor.metrics.rag import passages_of
from rag_monitor.metrics.rag.correctness import (
    SIMILARITY_SHARE,
    StatementCounts,
    answer_correctness,
    noise_sensitivity,
)
from rag_monitor.offline.dataset import Failure, failure_of
from rag_monitor.offline.reference_scores import make_score, pair_of

CORRECTNESS_METRIC: Final = "answer_correctness"
NOISE_METRICS: Final = ("noise_sensitivity", "noise_sensitivity_irrelevant")
REFERENCE_JUDGED: Final = (CORRECTNESS_METRIC, *NOISE_METRICS)

Similarity = Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[float | NotApplicable]]
_SUPPORT: Final = frozenset({Aspect.SUPPORT})


@dataclass(frozen=True, slots=True)
class _Answers:
    """What a judge said about each statement of one text, given another."""

    verdicts: tuple[bool, ...] = ()
    failure: Failure | None = None
    suspect: str | None = None


class ReferenceJudgeScorer:
    """Judges answers against references.

    Args:
        judge: Must answer the support aspect.
        metrics: Names of `REFERENCE_JUDGED`.
        similarity: Cosine of answer and reference, for answer correctness.
        similarity_share: Weight of the similarity in answer correctness; 0 needs no `similarity`.
    """

    def __init__(
        self,
        judge: Judge,
        metrics: Sequence[str],
        similarity: Similarity | None = None,
        similarity_share: float = SIMILARITY_SHARE,
    ) -> None:
        self.metrics = tuple(metrics)
        self._judge = judge
        self._similarity = similarity
        self._share = similarity_share
        self._turn = asyncio.Lock()

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | str]:
        """All requests of a batch go to the judge together."""
        plans = [self._requests(trace) for trace in traces]
        requests = [request for plan in plans for request in plan]
        async with self._turn:
            answers = iter(await self._judge.judge_many(requests)) if requests else iter(())
            cosines = await asyncio.to_thread(self._cosines, traces)
        rows = []
        for trace, plan, cosine in zip(traces, plans, cosines, strict=True):
            answered = [_read(next(answers)) for _ in plan]
            rows.append([self._one(name, trace, answered, cosine) for name in self.metrics])
        return rows

    def _cosines(self, traces: Sequence[Trace]) -> Sequence[float | NotApplicable]:
        if self._similarity is None or CORRECTNESS_METRIC not in self.metrics:
            return [NotApplicable("no_embedder")] * len(traces)
        return self._similarity([(a or "", refs) for a, refs in map(pair_of, traces)])

    def _requests(self, trace: Trace) -> list[JudgeRequest]:
        """Answer by reference, reference by answer, then per passage reference and answer."""
        if _blocked(trace) is not None:
            return []
        answer, references = pair_of(trace)
        reference = "\n".join(references)
        pairs = [(answer or "", references), (reference, (answer or "",))]
        if set(self.metrics) & set(NOISE_METRICS):
            for passage in passages_of(trace) or ():
                pairs += [(reference, (passage,)), (answer or "", (passage,))]
        return [
            JudgeRequest(
                key=f"{trace.trace_id}:{place}",
                question=trace.question or "",
                answer=text,
                contexts=tuple(sources),
                aspects=_SUPPORT,
            )
            for place, (text, sources) in enumerate(pairs)
        ]

    def _one(
        self, name: str, trace: Trace, answered: Sequence[_Answers], cosine: float | NotApplicable
    ) -> Score:
        reason = _blocked(trace)
        if reason is None and name in NOISE_METRICS and not passages_of(trace):
            reason = "no_contexts"
        if reason is not None:
            return make_score(name, reason)
        used = answered if name in NOISE_METRICS else answered[:2]
        failure = next((part.failure for part in used if part.failure), None)
        if failure is not None:
            return Score(
                metric=name,
                status=ScoreStatus.FAILED,
                reason=failure.reason,
                detail=failure.detail,
            )
        try:
            value = (
                _noise(name, answered)
                if name in NOISE_METRICS
                else self._correctness(answered, cosine)
            )
        except NotApplicable as missing:
            return make_score(name, str(missing).replace(" ", "_"))
        except ValueError:
            return Score(metric=name, status=ScoreStatus.FAILED, reason="verdict_missing")
        suspect = next((part.suspect for part in used if part.suspect), None)
        status = ScoreStatus.SUSPECT if suspect else ScoreStatus.SCORED
        return Score(
            metric=name, status=status, value=value, reason=suspect, judge=self._judge.identity
        )

    def _correctness(self, answered: Sequence[_Answers], cosine: float | NotApplicable) -> float:
        ours, theirs = answered[0].verdicts, answered[1].verdicts
        counts = StatementCounts(
            tp=sum(ours), fp=len(ours) - sum(ours), fn=len(theirs) - sum(theirs)
        )
        if isinstance(cosine, NotApplicable) and self._share:
            raise cosine
        similarity = None if isinstance(cosine, NotApplicable) else cosine
        return answer_correctness(counts, similarity, similarity_share=self._share)


def _noise(name: str, answered: Sequence[_Answers]) -> float:
    per_passage = answered[2:]
    return noise_sensitivity(
        [part.verdicts for part in per_passage[0::2]],
        [part.verdicts for part in per_passage[1::2]],
        answered[0].verdicts,
        mode="irrelevant" if name.endswith("irrelevant") else "relevant",
    )


def _blocked(trace: Trace) -> str | None:
    answer, references = pair_of(trace)
    if not any(reference.strip() for reference in references):
        return "no_reference"
    return None if answer and answer.strip() else "no_answer"


def _read(answer: Judgement | Exception) -> _Answers:
    if isinstance(answer, Exception):
        return _Answers(failure=failure_of(answer))
    reason = answer.missing.get(Aspect.SUPPORT)
    if reason is not None and reason != "no_statements" and not answer.refusal:
        return _Answers(failure=Failure(reason, answer.details.get(Aspect.SUPPORT)))
    verdicts = answer.of(Aspect.SUPPORT)
    return _Answers(tuple(verdict.holds for verdict in verdicts), suspect=answer.suspect)
