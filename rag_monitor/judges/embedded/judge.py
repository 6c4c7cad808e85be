"""The embedded judge: one `Judgement` per request, from evidence alone, in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    JudgeUsage,
    Verdict,
)
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.calibration import Calibration, read_calibration
from rag_monitor.judges.embedded import addressed, passages
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.features import ClaimEvidence, look_up_all
from rag_monitor.judges.embedded.grade import grade, noncommittal, rests_on_passages
from rag_monitor.judges.embedded.model import ClaimVerdict, Model, heed
from rag_monitor.judges.embedded.options import EmbeddedOptions, encoder_of, mismatch, weights_of
from rag_monitor.judges.embedded.packing import reading
from rag_monitor.judges.embedded.pieces import PassageCache
from rag_monitor.language.claims import AnswerParts, take_apart
from rag_monitor.language.foreign import foreign
from rag_monitor.language.normalise import fold
from rag_monitor.language.script import length
from rag_monitor.language.sentences import Span

if TYPE_CHECKING:
    from rag_monitor.judges.embedded.encoder import Encoder, Reading

FULL: Final = "embedded"
LEXICAL: Final = "embedded-lexical"

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

_ON_SUPPORT: Final = (
    Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED, Aspect.USEFULNESS, Aspect.USE, Aspect.GRADE
)  # fmt: skip
"""What follows from how well the statements are supported."""
_PASSAGE_ASPECTS: Final = (Aspect.RELEVANCE, Aspect.USEFULNESS, Aspect.USE)
FEATURES_VERSION: Final = "13"
"""Grows when the same text and weights score otherwise than before."""
READING_VERSION: Final = "4"
"""Grows when an encoder is given other texts, or is run otherwise, than before."""


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
    unsupported: str | None = None
    """Why nothing can be supported; None when it can."""
    claims: list[ClaimEvidence] = field(default_factory=list)
    read: dict[int, float] = field(default_factory=dict)
    """What the encoder said of each claim it read, times how much it is heeded."""
    settled: list[ClaimVerdict] = field(default_factory=list)
    seconds: float = 0.0
    """Time spent on this request so far."""

    relevant: list[tuple[float, str | None]] | None = None

    def asks(self, *aspects: Aspect) -> bool:
        """Whether any of `aspects` was asked."""
        return any(aspect in self.request.aspects for aspect in aspects)

    def foreign(self, statements: Iterable[str]) -> bool:
        """Whether folded statements are in another language than the passages."""
        return foreign(statements, [passage.folded for passage in self.evidence.passages])

    def relevance(self) -> list[tuple[float, str | None]]:
        """Per passage whether it is relevant, and what it conflicts with; worked out once."""
        if self.relevant is None:
            self.relevant = passages.relevance(self.evidence, self.request.passage_query)
        return self.relevant


class EmbeddedJudge:
    """Judges every trace on CPU, by lexical evidence and what an encoder says beside it.

    Thread-safe: holds its weights and the passages seen last.
    """

    def __init__(
        self,
        options: EmbeddedOptions | None = None,
        *,
        model: Model | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        self._options = options or EmbeddedOptions()
        self._model = model or weights_of(self._options)
        self._encoder = encoder or encoder_of(self._options, self._model)
        if self._encoder and self._model.encoder != self._encoder.version:
            raise ConfigurationError(mismatch(self._options, self._model, self._encoder))
        self._passage_cache = PassageCache(self._options.passage_cache_chars)
        kind = f"lexical-{FEATURES_VERSION}"
        own = JudgeIdentity(
            name=FULL if self._encoder else LEXICAL,
            model=f"{kind}+{self._encoder.version}-{READING_VERSION}" if self._encoder else kind,
            prompts=self._model.digest,
            calibration=self._model.version
            if self._options.weights
            else f"shipped-{self._model.version}",
        )
        self._identity = own
        self._calibration: Calibration | None = None
        if self._options.calibration:
            path = Path(self._options.calibration)
            self._calibration = read_calibration(path, str(own))
            self._identity = replace(own, calibration=self._calibration.version)

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
        """Judge one after the other; what fails is a value."""
        return [self._guarded(request) for request in requests]

    def _guarded(self, request: JudgeRequest) -> Judgement | Exception:
        try:
            return self.judge_one(request)
        except Exception as error:  # noqa: BLE001 - failures are values here, one must not spoil the batch
            return error

    def judge_one(self, request: JudgeRequest) -> Judgement:
        """Judge one trace here and now."""
        case = self._look_up(request)
        self._read(case)
        return self._settle(case)

    def _look_up(self, request: JudgeRequest) -> _Case:
        """Everything that is known of a request without the encoder."""
        started = time.perf_counter()
        case = self._open(request)
        for aspect in request.aspects - ASPECTS:
            case.missing[aspect] = "unsupported_aspect"
        spans = _spans(case)
        case.unsupported = _why_no_support(case, spans)
        if not case.unsupported:
            case.claims = look_up_all(spans, case.evidence, case.answer)
            said = [claim.piece for claim in case.claims]
            if case.foreign(piece.folded for piece in said if not piece.addressed):
                case.unsupported = _FOREIGN
        case.seconds = time.perf_counter() - started
        return case

    def _read(self, case: _Case) -> None:
        """Let the encoder read the claims of a trace, within its window.

        One trace at a time: arithmetic in eight bits depends on everything that is read together,
        and a score must not depend on which traces happened to come with it.
        """
        if self._encoder is None or case.unsupported or not case.asks(*_ON_SUPPORT):
            return
        started = time.perf_counter()
        chosen = dict(self._readings(case, self._encoder))
        if chosen:
            told = self._encoder.doubts(list(chosen.values()))
            more = heed(self._model.weights(case.answer), case.claims)
            case.read = {number: more * odds for number, odds in zip(chosen, told, strict=True)}
        case.seconds += time.perf_counter() - started

    def _readings(self, case: _Case, encoder: Encoder) -> Iterator[tuple[int, Reading]]:
        """Which claims of a trace the encoder reads: the least certain ones that fit its window."""
        asked = [
            number
            for number, claim in enumerate(case.claims)
            if self._model.weights(claim.span.text).encoder and not claim.verbatim  # it is settled
        ]
        pairs = {number: reading(case.claims[number].piece, case.evidence) for number in asked}
        asked = [number for number in asked if pairs[number][1]]
        sizes = dict(zip(pairs, encoder.sizes(list(pairs.values())), strict=True))
        asked.sort(key=lambda n: abs(self._model.claim(case.claims[n]).doubt))
        left = self._options.encoder_window
        for number in asked:
            if sizes[number] <= left:
                left -= sizes[number]
                yield number, pairs[number]

    def _settle(self, case: _Case) -> Judgement:
        """The judgement on a request that was looked up and read."""
        started = time.perf_counter()
        self._support(case)
        self._passages(case)
        self._coverage(case)
        self._manner(case)
        return Judgement(
            identity=self._identity,
            verdicts=tuple(v for v in case.verdicts if v.aspect in case.request.aspects),
            missing=case.missing,
            refusal=case.parts.declines,
            suspect=_suspect(case),
            threshold=self._threshold(case),
            coverage=case.coverage,
            usage=JudgeUsage(calls=1, seconds=case.seconds + time.perf_counter() - started),
        )

    def _threshold(self, case: _Case) -> float:
        if self._options.threshold is not None:
            return self._options.threshold
        if self._calibration is not None:
            return self._calibration.threshold
        return self._model.weights(case.answer).threshold

    def _open(self, request: JudgeRequest) -> _Case:
        [answer] = _cut_all([request.answer], self._options.max_answer_chars)
        contexts = request.contexts
        parts = take_apart(answer)
        left_out = parts.claims[self._options.max_statements :]
        if left_out:
            answer = answer[: left_out[0].start]
            parts = replace(parts, claims=parts.claims[: self._options.max_statements])
        seen, whole = len(answer), len(request.answer)
        if contexts is not None:
            whole += sum(map(len, contexts))
            contexts = _cut_all(contexts, self._options.max_context_chars)
            seen += sum(map(len, contexts))
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
        if case.unsupported:
            case.missing.update(dict.fromkeys(asked, case.unsupported))
            return
        empty = not any(passage.sentences for passage in case.evidence.passages)
        case.settled = [
            ClaimVerdict(_HOPELESS, _HOPELESS, 0.0, "no_contexts", hopeless=1.0)
            if empty
            else self._model.claim(claim, case.read.get(number, 0.0))
            for number, claim in enumerate(case.claims)
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
        probability, raw = self._model.answer(case.settled, case.answer)
        if self._calibration is not None:
            probability = self._calibration.apply(probability)
        worst = min(range(len(case.claims)), key=lambda i: case.settled[i].probability)
        case.verdicts.append(
            Verdict(
                aspect=Aspect.ANSWER_SUPPORTED,
                probability=0.0 if empty else probability,
                raw=-raw,
                text=case.claims[worst].span.text,
                start=case.claims[worst].span.start,
                end=case.claims[worst].span.end,
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
        relevant = case.relevance()
        on_subject = [p for p, _ in relevant]
        asked_abroad = case.foreign([fold(case.request.passage_query)])
        found = {} if asked_abroad else {Aspect.RELEVANCE: on_subject}
        if case.unsupported != _FOREIGN:
            supported = [verdict.probability for verdict in case.settled]
            used = passages.use(case.evidence, case.claims, supported)
            found[Aspect.USEFULNESS] = passages.usefulness(
                case.evidence, case.claims, supported, used if asked_abroad else on_subject, used
            )
            found[Aspect.USE] = used
        case.missing.update(dict.fromkeys(set(asked) - found.keys(), _FOREIGN))
        for aspect, values in found.items():
            for index, value in enumerate(values):
                case.verdicts.append(
                    Verdict(
                        aspect=aspect,
                        probability=value,
                        raw=value,
                        index=index,
                        evidence=index,
                        reason=relevant[index][1] if aspect is Aspect.RELEVANCE else None,
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
        elif case.foreign([fold(text) for text, _ in points]):
            case.missing[Aspect.COVERAGE] = _FOREIGN
            return
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
        if not case.parts.declines and _beyond_grading(case):
            case.missing[Aspect.GRADE] = _FOREIGN
            return
        supported = [verdict.probability for verdict in case.settled]
        value = grade(
            case.evidence,
            case.answer,
            case.parts,
            lambda: passages.borne_out(case.evidence, case.claims, supported, case.relevance()),
        )
        case.verdicts.append(Verdict(aspect=Aspect.GRADE, probability=value, raw=value))


_FOREIGN: Final = "languages_differ"
_HOPELESS: Final = 6.0
"""Log-odds of doubt of a statement when nothing was recalled."""


_HAN_COUNTS: Final = 3
"""A Han character says about as much as three Latin letters, and costs as much to look up."""


def _cut(text: str, budget: int) -> tuple[str, int]:
    """The beginning of a text that the budget allows, and what is left of it."""
    text = text[: max(0, budget)]
    if text.isascii():
        return text, budget - len(text)
    size = length(text, han=_HAN_COUNTS)
    if size > budget:
        text = text[: len(text) * budget // size]
        return text, 0
    return text, budget - size


def _cut_all(texts: Sequence[str], budget: int) -> tuple[str, ...]:
    """The beginnings of several texts that a budget allows, the first ones first."""
    if _HAN_COUNTS * sum(map(len, texts)) <= budget:
        return tuple(texts)
    kept = []
    for text in texts:
        beginning, budget = _cut(text, budget)
        kept.append(beginning)
    return tuple(kept)


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


def _beyond_grading(case: _Case) -> bool:
    """Whether a language keeps an answer from being held against its question."""
    if foreign([fold(case.answer)], [case.evidence.question.folded]):
        return True
    return case.unsupported == _FOREIGN and rests_on_passages(case.answer)


def _key_points(request: JudgeRequest) -> list[tuple[str, str]]:
    """The labelled key points, else the statements of the first reference."""
    if request.key_points:
        return [(point.text, point.source.value) for point in request.key_points]
    if request.references:
        parts = take_apart(request.references[0])
        return [(claim.text, "reference") for claim in parts.claims]
    return []
