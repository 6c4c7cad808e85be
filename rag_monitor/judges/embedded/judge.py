"""The embedded judge: one `Judgement` per request, from evidence alone, in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    JudgeUsage,
    Verdict,
)
from rag_monitor.judges.calibration import Calibration, read_calibration
from rag_monitor.judges.embedded import addressed, passages
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.features import ClaimEvidence, look_up_all
from rag_monitor.judges.embedded.grade import grade, noncommittal
from rag_monitor.judges.embedded.model import ClaimVerdict, Model, shipped
from rag_monitor.judges.embedded.pieces import PassageCache
from rag_monitor.language.claims import AnswerParts, take_apart
from rag_monitor.language.script import count_han
from rag_monitor.language.sentences import Span

ASPECTS: Final = frozenset(
    {
        Aspect.SUPPORT,
        Aspect.ANSWER_SUPPORTED,
        Aspect.RELEVANCE,
        Aspect.USEFULNESS,
        Aspect.USE,
        Aspect.COVERAGE,
        Aspect.GRADE,
        Aspect.NONCOMMITTAL,
    }
)
"""What the embedded judge answers; it regenerates no questions and writes no text."""

_PASSAGE_ASPECTS: Final = (Aspect.RELEVANCE, Aspect.USEFULNESS, Aspect.USE)
FEATURES_VERSION: Final = "2"
"""Grows when the same text and weights score otherwise than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedOptions:
    """Settings of the embedded judge, `[judges.embedded]`."""

    max_answer_chars: int = 5_000
    """Longer answers are judged by their beginning; `Judgement.coverage` says how much. A Han
    character counts as three."""
    max_context_chars: int = 40_000
    """All passages together, counted likewise; later ones are cut first."""
    max_statements: int = 60
    """Statements of an answer that are judged; `Judgement.coverage` says how much that leaves."""
    threshold: float | None = None
    """Flag `answer_supported` below this instead of the shipped threshold."""
    passage_cache_chars: int = 2_000_000
    """Passages kept indexed, in characters, because traffic recalls the same ones; 0: none."""
    calibration: str = ""
    """Path of a file `rag-monitor calibrate` wrote; its version becomes part of the identity."""


@dataclass(slots=True, eq=False)
class _Case:
    """One request while it is being judged."""

    request: JudgeRequest
    answer: str
    contexts: tuple[str, ...] | None
    parts: AnswerParts
    evidence: Evidence
    coverage: float
    verdicts: list[Verdict] = field(default_factory=list)
    missing: dict[Aspect, str] = field(default_factory=dict)
    claims: list[ClaimEvidence] = field(default_factory=list)
    settled: list[ClaimVerdict] = field(default_factory=list)

    def asks(self, *aspects: Aspect) -> bool:
        """Whether any of `aspects` was asked."""
        return any(aspect in self.request.aspects for aspect in aspects)


class EmbeddedJudge:
    """Judges every trace on CPU; the lexical variant.

    Thread-safe: holds its weights and the passages seen last.
    """

    def __init__(
        self, options: EmbeddedOptions | None = None, *, model: Model | None = None
    ) -> None:
        self._options = options or EmbeddedOptions()
        self._model = model or shipped()
        self._passage_cache = PassageCache(self._options.passage_cache_chars)
        shipped_identity = JudgeIdentity(
            name="embedded-lexical",
            model=f"lexical-{FEATURES_VERSION}",
            prompts=self._model.digest,
            calibration=f"shipped-{self._model.version}",
        )
        self._identity = shipped_identity
        self._calibration: Calibration | None = None
        if self._options.calibration:
            path = Path(self._options.calibration)
            self._calibration = read_calibration(path, str(shipped_identity))
            self._identity = replace(shipped_identity, calibration=self._calibration.version)

    @property
    def identity(self) -> JudgeIdentity:
        """`prompts` is a hash of features and weights."""
        return self._identity

    @property
    def aspects(self) -> frozenset[Aspect]:
        """Everything but regenerated questions and summaries."""
        return ASPECTS

    async def judge(self, request: JudgeRequest) -> Judgement:
        """Judge one trace in a thread. Never raises for odd text."""
        return await asyncio.to_thread(self.judge_one, request)

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge a batch in one thread, so that the event loop stays free."""
        return await asyncio.to_thread(self._judge_batch, tuple(requests))

    async def close(self) -> None:
        """Nothing to release."""

    def _judge_batch(self, requests: Sequence[JudgeRequest]) -> list[Judgement | Exception]:
        results: list[Judgement | Exception] = []
        for request in requests:
            try:
                results.append(self.judge_one(request))
            except Exception as error:  # noqa: BLE001 - failures are values here, one must not spoil the batch
                results.append(error)
        return results

    def judge_one(self, request: JudgeRequest) -> Judgement:
        """Judge one trace here and now."""
        started = time.perf_counter()
        case = self._open(request)
        for aspect in request.aspects - ASPECTS:
            case.missing[aspect] = "unsupported_aspect"
        self._support(case)
        self._passages(case)
        self._coverage(case)
        self._manner(case)
        return Judgement(
            identity=self._identity,
            verdicts=tuple(v for v in case.verdicts if v.aspect in request.aspects),
            missing=case.missing,
            refusal=case.parts.declines,
            suspect=_suspect(case),
            threshold=self._threshold(case),
            coverage=case.coverage,
            usage=JudgeUsage(calls=1, seconds=time.perf_counter() - started),
        )

    def _threshold(self, case: _Case) -> float:
        if self._options.threshold is not None:
            return self._options.threshold
        if self._calibration is not None:
            return self._calibration.threshold
        return self._model.weights(case.answer).threshold

    def _open(self, request: JudgeRequest) -> _Case:
        answer, _ = _cut(request.answer, self._options.max_answer_chars)
        contexts = request.contexts
        parts = take_apart(answer)
        left_out = parts.claims[self._options.max_statements :]
        if left_out:
            answer = answer[: left_out[0].start]
            parts = replace(parts, claims=parts.claims[: self._options.max_statements])
        seen, whole = len(answer), len(request.answer)
        if contexts is not None:
            left = self._options.max_context_chars
            cut = []
            for text in contexts:
                kept, left = _cut(text, left)
                cut.append(kept)
            seen += sum(map(len, cut))
            whole += sum(map(len, contexts))
            contexts = tuple(cut)
        return _Case(
            request=request,
            answer=answer,
            contexts=contexts,
            parts=parts,
            evidence=Evidence.build(contexts or (), request.question, self._passage_cache.get),
            coverage=seen / whole if whole else 1.0,
        )

    def _support(self, case: _Case) -> None:
        asked = [a for a in (Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED) if case.asks(a)]
        spans = _spans(case)
        reason = _why_no_support(case, spans)
        if reason:
            case.missing.update(dict.fromkeys(asked, reason))
            return
        case.claims = look_up_all(spans, case.evidence, case.answer)
        empty = not any(passage.sentences for passage in case.evidence.passages)
        case.settled = [
            ClaimVerdict(_HOPELESS, _HOPELESS, 0.0, "no_contexts")
            if empty
            else self._model.claim(claim)
            for claim in case.claims
        ]
        for index, (claim, verdict) in enumerate(zip(case.claims, case.settled, strict=True)):
            case.verdicts.append(
                Verdict(
                    aspect=Aspect.SUPPORT,
                    probability=verdict.probability,
                    raw=-verdict.doubt,
                    index=index,
                    text=claim.span.text,
                    start=claim.span.start,
                    end=claim.span.end,
                    evidence=claim.passage,
                    reason=verdict.reason,
                )
            )
        probability, raw = self._model.answer([v.for_answer for v in case.settled], case.answer)
        if self._calibration is not None:
            probability = self._calibration.apply(probability)
        worst = min(range(len(spans)), key=lambda i: case.settled[i].probability)
        case.verdicts.append(
            Verdict(
                aspect=Aspect.ANSWER_SUPPORTED,
                probability=0.0 if empty else probability,
                raw=-raw,
                text=spans[worst].text,
                start=spans[worst].start,
                end=spans[worst].end,
                evidence=case.claims[worst].passage,
                reason=case.settled[worst].reason,
            )
        )

    def _passages(self, case: _Case) -> None:
        asked = [aspect for aspect in _PASSAGE_ASPECTS if case.asks(aspect)]
        if not asked:
            return
        if case.contexts is None:
            case.missing.update(dict.fromkeys(asked, "contexts_unknown"))
            return
        relevant = passages.relevance(case.evidence, case.request.passage_query)
        probabilities = [p for p, _ in relevant]
        supported = [verdict.probability for verdict in case.settled]
        used = passages.use(case.evidence, case.claims, supported)
        useful = passages.usefulness(case.evidence, case.claims, supported, probabilities, used)
        for aspect, values in zip(_PASSAGE_ASPECTS, (probabilities, useful, used), strict=True):
            for index, value in enumerate(values):
                conflict = relevant[index][1] if aspect is Aspect.RELEVANCE else None
                case.verdicts.append(
                    Verdict(
                        aspect=aspect,
                        probability=value,
                        raw=value,
                        index=index,
                        evidence=index,
                        reason=conflict,
                    )
                )

    def _coverage(self, case: _Case) -> None:
        if not case.asks(Aspect.COVERAGE):
            return
        if case.contexts is None:
            case.missing[Aspect.COVERAGE] = "contexts_unknown"
            return
        points = _key_points(case.request)
        if not points:
            case.missing[Aspect.COVERAGE] = "no_key_points"
        for index, (text, source) in enumerate(points):
            probability, where = passages.coverage(text, case.evidence)
            case.verdicts.append(
                Verdict(
                    aspect=Aspect.COVERAGE,
                    probability=probability,
                    raw=probability,
                    index=index,
                    text=text,
                    evidence=where,
                    reason=source,
                )
            )

    def _manner(self, case: _Case) -> None:
        if case.asks(Aspect.NONCOMMITTAL):
            value = noncommittal(case.answer, case.parts)
            case.verdicts.append(Verdict(aspect=Aspect.NONCOMMITTAL, probability=value, raw=value))
        if not case.asks(Aspect.GRADE):
            return
        if not case.answer.strip():
            case.missing[Aspect.GRADE] = "empty_answer"
            return
        supported = [verdict.probability for verdict in case.settled]
        mean = sum(supported) / len(supported) if supported else 0.0
        value = grade(case.evidence, case.answer, case.parts, mean)
        case.verdicts.append(Verdict(aspect=Aspect.GRADE, probability=value, raw=value))


_HOPELESS: Final = 6.0
"""Log-odds of doubt of a statement when nothing was recalled."""


_HAN_COUNTS: Final = 3
"""A Han character says about as much as three Latin letters, and costs as much to look up."""


def _cut(text: str, budget: int) -> tuple[str, int]:
    """The beginning of a text that the budget allows, and what is left of it."""
    text = text[: max(0, budget)]
    if text.isascii():
        return text, budget - len(text)
    size = len(text) + (_HAN_COUNTS - 1) * count_han(text)
    if size > budget:
        text = text[: len(text) * budget // size]
        return text, 0
    return text, budget - size


def _suspect(case: _Case) -> str | None:
    """Whether the answer or a passage talks to the judge."""
    noticed = any(passage.suspect for passage in case.evidence.passages) or any(
        claim.piece.addressed for claim in case.claims
    )
    return addressed.REASON if noticed else None


def _spans(case: _Case) -> Sequence[Span]:
    if case.request.statements is None:
        return case.parts.claims
    return [Span(s.text, s.start, s.end) for s in case.request.statements]


def _why_no_support(case: _Case, spans: Sequence[Span]) -> str | None:
    """Why there is nothing to support; a refusal is recognised first."""
    if case.request.statements is None and case.parts.declines:
        return "refusal"
    if not spans:
        return "no_statements"
    return "contexts_unknown" if case.contexts is None else None


def _key_points(request: JudgeRequest) -> list[tuple[str, str]]:
    """The labelled key points, else the statements of the first reference."""
    if request.key_points:
        return [(point.text, point.source.value) for point in request.key_points]
    if request.references:
        parts = take_apart(request.references[0])
        return [(claim.text, "reference") for claim in parts.claims]
    return []
