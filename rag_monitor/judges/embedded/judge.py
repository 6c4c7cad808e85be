"""The embedded judge: words, numbers and structure of every claim, and what an encoder says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    JudgeUsage,
)
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.calibration import Calibration, read_calibration
from rag_monitor.judges.embedded.case import Case, open_request
from rag_monitor.judges.embedded.cited import settle_citations
from rag_monitor.judges.embedded.combination import with_relevance
from rag_monitor.judges.embedded.consulting import consult
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.features import look_up_all
from rag_monitor.judges.embedded.model import ClaimVerdict, Model
from rag_monitor.judges.embedded.options import EmbeddedOptions, encoder_of, mismatch, weights_of
from rag_monitor.judges.embedded.pieces import PassageCache
from rag_monitor.judges.embedded.settling import (
    FOREIGN,
    settle_case,
    settle_claim,
    suspicion,
    threshold,
)
from rag_monitor.language.sentences import Span

if TYPE_CHECKING:
    from rag_monitor.judges.embedded.encoder import Encoder

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
        Aspect.CITED_SUPPORT,
        Aspect.CITATION,
    }
)
"""What the embedded judge answers; it regenerates no questions and writes no text."""

_ON_SUPPORT: Final = (
    Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED, Aspect.USEFULNESS, Aspect.USE, Aspect.GRADE,
    Aspect.CITED_SUPPORT, Aspect.CITATION,
)  # fmt: skip
"""What follows from how well the statements are supported."""
FEATURES_VERSION: Final = "2"
"""Grows when the same text and weights score otherwise than before."""
READING_VERSION: Final = "6"
"""Grows when an encoder is given other texts, or is run otherwise, than before."""


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
        kind = f"coverage-{FEATURES_VERSION}"
        own = JudgeIdentity(
            name=FULL if self._encoder else LEXICAL,
            model=f"{kind}+{self._encoder.version}-{READING_VERSION}" if self._encoder else kind,
            prompts=with_relevance(self._model.digest),
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
        """`prompts` is a hash of features and weights, of support and of relevance."""
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

    def judge_one(self, request: JudgeRequest) -> Judgement:
        """Judge one trace here and now."""
        started = time.perf_counter()
        case = self._look_up(request)
        beyond = request.aspects - ASPECTS
        case.missing.update((aspect, "unsupported_aspect") for aspect in Aspect if aspect in beyond)
        settle_case(case, self._model, self._calibration)
        if case.asks(Aspect.CITED_SUPPORT, Aspect.CITATION):
            settle_citations(case, self._by_passages, self._options)
        return Judgement(
            identity=self._identity,
            verdicts=tuple(v for v in case.verdicts if v.aspect in request.aspects),
            missing=case.missing,
            refusal=case.opened.parts.declines,
            suspect=suspicion(case),
            threshold=threshold(case, self._model, self._calibration, self._options.threshold),
            coverage=case.opened.coverage,
            usage=JudgeUsage(calls=1, seconds=time.perf_counter() - started),
        )

    def _judge_batch(self, requests: Sequence[JudgeRequest]) -> list[Judgement | Exception]:
        """Judge one after the other; what fails is a value."""
        return [self._guarded(request) for request in requests]

    def _guarded(self, request: JudgeRequest) -> Judgement | Exception:
        try:
            return self.judge_one(request)
        except Exception as error:  # noqa: BLE001 - failures are values here, one must not spoil the batch
            return error

    def _look_up(self, request: JudgeRequest) -> Case:
        """Everything that is known of a request."""
        opened = open_request(request, self._options)
        evidence = Evidence.build(opened.contexts or (), request.question, self._passage_cache.get)
        case = Case(opened, evidence, opened.unsupported)
        if not case.unsupported:
            case.claims = look_up_all(opened.spans, evidence)
            said = [claim.piece for claim in case.claims]
            if case.foreign(piece.folded for piece in said if not piece.addressed):
                case.unsupported = FOREIGN
        self._read(case, evidence)
        return case

    def _read(self, case: Case, evidence: Evidence) -> None:
        """Let the encoder read the claims of a trace, within its window."""
        if self._encoder is None or case.unsupported or not case.asks(*_ON_SUPPORT):
            return
        claims = [(claim, evidence) for claim in case.claims]
        case.read = consult(claims, self._model, self._encoder, self._options.encoder_window)

    def _by_passages(
        self, case: Case, asked: Sequence[tuple[Span, Sequence[int]]], window: int
    ) -> Sequence[ClaimVerdict]:
        """How far some of the passages alone support each of some statements."""
        contexts = case.opened.contexts or ()
        evidence = {
            places: Evidence.build(
                [contexts[place] for place in places],
                case.request.question,
                self._passage_cache.get,
            )
            for places in dict.fromkeys(tuple(places) for _, places in asked)
        }
        claims = [
            (claim, evidence[tuple(places)])
            for span, places in asked
            for claim in look_up_all([span], evidence[tuple(places)])
        ]
        read = consult(claims, self._model, self._encoder, window) if self._encoder else {}
        return [
            settle_claim(claim, own, self._model, read.get(number))
            for number, (claim, own) in enumerate(claims)
        ]
