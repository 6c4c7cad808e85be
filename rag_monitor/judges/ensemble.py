"""Several judges as one: their verdicts averaged, their disagreement exported."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from prometheus_client import Histogram

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    JudgeUsage,
    Verdict,
)
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.judge import BatchJudge, InspectableJudge, Judge
from rag_monitor.judges.questions import split_answer
from rag_monitor.telemetry import REGISTRY

NAME: Final = "ensemble"

DISAGREEMENT: Final = Histogram(
    "rag_monitor_judge_disagreement",
    "Largest difference in probability between the judges of an ensemble, per verdict.",
    ("aspect",),
    buckets=(0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0),
    registry=REGISTRY,
)


class EnsembleJudge(BatchJudge):
    """Asks every member and averages. A verdict needs every member that can give it.

    Args:
        judges: Two or more. Their order does not matter to verdicts.

    Raises:
        ConfigurationError: Fewer than two judges.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        if len(judges) < 2:
            raise ConfigurationError("an ensemble needs at least two judges")
        self._judges = tuple(judges)

    @property
    def identity(self) -> JudgeIdentity:
        """The identities of all members."""
        return _identity([judge.identity for judge in self._judges])

    @property
    def aspects(self) -> frozenset[Aspect]:
        """What any member can answer."""
        return frozenset[Aspect]().union(*(judge.aspects for judge in self._judges))

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Ask all members about all traces, side by side."""
        shared = [self._with_statements(request) for request in requests]
        answers = await asyncio.gather(
            *(self._ask(judge, shared) for judge in self._judges), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, asyncio.CancelledError):
                raise answer
        rows: list[list[Judgement | Exception]] = [[] for _ in requests]
        for answer in answers:
            for place, row in enumerate(rows):
                row.append(_result(answer, place))
        return [self._combine(request, row) for request, row in zip(shared, rows, strict=True)]

    async def inspect(self) -> Mapping[str, object]:
        """What the members find out about themselves, each under its identity.

        Raises:
            JudgeError: A member cannot be used.
        """
        return {
            str(judge.identity): dict(await judge.inspect())
            for judge in self._judges
            if isinstance(judge, InspectableJudge)
        }

    async def close(self) -> None:
        """Close every member."""
        await asyncio.gather(*(judge.close() for judge in self._judges))

    async def _ask(
        self, judge: Judge, requests: Sequence[JudgeRequest]
    ) -> Sequence[Judgement | Exception]:
        wanted = [replace(r, aspects=r.aspects & judge.aspects) for r in requests]
        return await judge.judge_many(wanted)

    def _with_statements(self, request: JudgeRequest) -> JudgeRequest:
        if request.statements is not None:
            return request
        return replace(request, statements=split_answer(request.answer))

    def _combine(
        self, request: JudgeRequest, row: Sequence[Judgement | Exception]
    ) -> Judgement | Exception:
        judgements: list[Judgement] = []
        for result in row:
            if not isinstance(result, Judgement):
                return result
            judgements.append(result)
        missing: dict[Aspect, str] = {}
        details: dict[Aspect, str] = {}
        for judgement in judgements:
            missing |= judgement.missing
            details |= judgement.details
        missing |= dict.fromkeys(request.aspects - self.aspects, "unsupported_aspect")
        grouped: dict[tuple[Aspect, int], list[Verdict]] = defaultdict(list)
        for judgement in judgements:
            for verdict in judgement.verdicts:
                grouped[verdict.aspect, verdict.index].append(verdict)
        suspects = [j.suspect for j in judgements if j.suspect is not None]
        return Judgement(
            identity=_identity([judgement.identity for judgement in judgements]),
            verdicts=tuple(_average(same) for same in grouped.values()),
            missing=missing,
            details=details,
            refusal=2 * sum(j.refusal for j in judgements) > len(judgements),
            suspect=suspects[0] if suspects else None,
            threshold=fmean(j.threshold for j in judgements),
            coverage=min(j.coverage for j in judgements),
            usage=_sum([j.usage for j in judgements]),
        )


def _identity(members: Sequence[JudgeIdentity]) -> JudgeIdentity:
    return JudgeIdentity(name=NAME, model=" | ".join(sorted(map(str, members))))


def _result(
    answer: Sequence[Judgement | Exception] | BaseException, place: int
) -> Judgement | Exception:
    if isinstance(answer, Exception):
        return answer
    if isinstance(answer, BaseException):
        raise answer
    return answer[place]


def _average(verdicts: Sequence[Verdict]) -> Verdict:
    values = [verdict.probability for verdict in verdicts]
    first = next((v for v in verdicts if v.evidence is not None), verdicts[0])
    spread = max(values) - min(values)
    DISAGREEMENT.labels(aspect=first.aspect.value).observe(spread)
    mean = fmean(values)
    return replace(first, probability=mean, raw=mean, reason=f"spread {spread:.2f}")


def _sum(usages: Sequence[JudgeUsage]) -> JudgeUsage:
    return JudgeUsage(
        calls=sum(u.calls for u in usages),
        input_tokens=sum(u.input_tokens for u in usages),
        output_tokens=sum(u.output_tokens for u in usages),
        seconds=max(u.seconds for u in usages),
        gpu_seconds=sum(u.gpu_seconds for u in usages),
        cost=sum(u.cost for u in usages),
        cached=all(u.cached for u in usages),
    )
