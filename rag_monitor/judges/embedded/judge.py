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
from rag_monitor.judges.calibration import Calibration, read_calibration
from rag_monitor.judges.embedded.citation_verdicts import add_citation_verdicts
from rag_monitor.judges.embedded.combination import with_relevance
from rag_monitor.judges.embedded.encoder_window import read_uncertain
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.features import look_up_all
from rag_monitor.judges.embedded.in_context import Context
from rag_monitor.judges.embedded.judging import Judging, prepare
from rag_monitor.judges.embedded.model import ClaimVerdict, Model
from rag_monitor.judges.embedded.options import EmbeddedOptions, encoder_of, mismatch, weights_of
from rag_monitor.judges.embedded.segments import PassageCache
from rag_monitor.judges.embedded.sufficiency_reading import reader_of
from rag_monitor.judges.embedded.verdicts import (
    LANGUAGES_DIFFER,
    build_verdicts,
    claim_verdict,
    injection_reason,
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
        Aspect.SUFFICIENCY,
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
READING_VERSION: Final = "7"
"""Grows when an encoder is given other texts, or is run otherwise, than before."""


class EmbeddedJudge:
    """Judges every trace on CPU, by lexical evidence and what an encoder says beside it.

    Thread-safe: holds its weights and the passages seen last.

        >>> from rag_monitor.judges.embedded import create_lexical
        >>> request = JudgeRequest(
        ...     question="How long is the warranty?",
        ...     answer="The standard warranty lasts 36 months.",
        ...     contexts=("The standard warranty lasts 24 months.",),
        ...     aspects=frozenset({Aspect.SUPPORT}),
        ... )
        >>> [verdict] = create_lexical({}).judge_one(request).verdicts
        >>> verdict.holds, verdict.reason, verdict.evidence
        (False, 'number_mismatch', 0)
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
            raise mismatch(self._options, self._model, self._encoder)
        self._reader = reader_of(self._encoder)
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
        judging = self._look_up(request)
        beyond = request.aspects - ASPECTS
        judging.missing.update(
            (aspect, "unsupported_aspect") for aspect in Aspect if aspect in beyond
        )
        build_verdicts(judging, self._model, self._calibration)
        if judging.asks(Aspect.CITED_SUPPORT, Aspect.CITATION):
            add_citation_verdicts(judging, self._by_passages, self._options)
        return Judgement(
            identity=self._identity,
            verdicts=tuple(v for v in judging.verdicts if v.aspect in request.aspects),
            missing=judging.missing,
            refusal=judging.prepared.parts.declines,
            suspect=injection_reason(judging),
            threshold=threshold(judging, self._model, self._calibration, self._options.threshold),
            coverage=judging.prepared.coverage,
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

    def _look_up(self, request: JudgeRequest) -> Judging:
        """Everything that is known of a request."""
        prepared = prepare(request, self._options)
        evidence = EvidenceIndex.build(
            prepared.contexts or (), request.question, self._passage_cache.get
        )
        judging = Judging(
            prepared, evidence, prepared.unsupported, context=Context.of(prepared.request),
            reader=self._reader,
        )  # fmt: skip
        if not judging.unsupported:
            judging.claims = look_up_all(prepared.spans, evidence)
            segments = [claim.segment for claim in judging.claims]
            if judging.languages_differ(
                segment.folded for segment in segments if not segment.addressed
            ):
                judging.unsupported = LANGUAGES_DIFFER
        self._read(judging, evidence)
        return judging

    def _read(self, judging: Judging, evidence: EvidenceIndex) -> None:
        """Let the encoder read the claims of a trace, within its window."""
        if self._encoder is None or judging.unsupported or not judging.asks(*_ON_SUPPORT):
            return
        claims = [(claim, evidence) for claim in judging.claims]
        judging.read = read_uncertain(
            claims, self._model, self._encoder, self._options.encoder_window
        )

    def _by_passages(
        self, judging: Judging, pairs: Sequence[tuple[Span, Sequence[int]]], window: int
    ) -> Sequence[ClaimVerdict]:
        """How far some of the passages alone support each of some statements."""
        contexts = judging.prepared.contexts or ()
        evidence = {
            places: EvidenceIndex.build(
                [contexts[place] for place in places],
                judging.request.question,
                self._passage_cache.get,
            )
            for places in dict.fromkeys(tuple(places) for _, places in pairs)
        }
        claims = [
            (claim, evidence[tuple(places)])
            for span, places in pairs
            for claim in look_up_all([span], evidence[tuple(places)])
        ]
        read = read_uncertain(claims, self._model, self._encoder, window) if self._encoder else {}
        return [
            claim_verdict(claim, own, self._model, read.get(number))
            for number, (claim, own) in enumerate(claims)
        ]
