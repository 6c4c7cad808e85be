"""Scores that a local model gives: BERTScore and semantic similarity (encoder), perplexity."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from rag_monitor.domain.score import Score
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.text.bertscore import BertScorer
from rag_monitor.metrics.text.encoder import Encoder, SimilarityScorer
from rag_monitor.metrics.text.overlap import PrecisionRecallF1
from rag_monitor.metrics.text.perplexity import PerplexityModel, TextPerplexity
from rag_monitor.offline.reference_scores import Number, make_score, pair_of

BERTSCORE_METRICS: Final = ("bertscore_precision", "bertscore_recall", "bertscore_f1")
SIMILARITY_METRIC: Final = "semantic_similarity"
ENCODER_METRICS: Final = (*BERTSCORE_METRICS, SIMILARITY_METRIC)
PERPLEXITY_METRIC: Final = "perplexity"


class EncoderScorer:
    """BERTScore and semantic similarity of answers against their references.

    Args:
        encoder: Shared by all metrics.
        metrics: Names of `ENCODER_METRICS`.
    """

    def __init__(self, encoder: Encoder, metrics: Sequence[str]) -> None:
        self.metrics = tuple(metrics)
        self._bertscore = BertScorer(encoder)
        self._similarity = SimilarityScorer(encoder)
        self._turn = asyncio.Lock()

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | str]:
        """One batch after the other, in a thread."""
        async with self._turn:
            return await asyncio.to_thread(self._score, traces)

    def _score(self, traces: Sequence[Trace]) -> list[list[Score]]:
        answers = [trace.answer for trace in traces]
        pairs = [(answer or "", references) for answer, references in map(pair_of, traces)]
        columns: dict[str, list[Number]] = {}
        if set(self.metrics) & set(BERTSCORE_METRICS):
            scores = self._bertscore.score(pairs)
            for name, part in zip(BERTSCORE_METRICS, ("precision", "recall", "f1"), strict=True):
                columns[name] = [_part(score, part) for score in scores]
        if SIMILARITY_METRIC in self.metrics:
            columns[SIMILARITY_METRIC] = [
                _word(v) if isinstance(v, NotApplicable) else max(0.0, v)
                for v in self._similarity.score(pairs)
            ]
        return [
            [
                make_score(name, "no_answer" if answer is None else columns[name][place])
                for name in self.metrics
            ]
            for place, answer in enumerate(answers)
        ]


def _part(score: PrecisionRecallF1 | NotApplicable, part: str) -> Number:
    return _word(score) if isinstance(score, NotApplicable) else max(0.0, getattr(score, part))


def _word(reason: NotApplicable) -> str:
    return str(reason).replace(" ", "_")


class PerplexityScorer:
    """Perplexity of answers.

    Args:
        model: The causal language model.
        on_tokens: Called with (log-likelihood lost, tokens) per text, for the corpus figure.
    """

    metrics = (PERPLEXITY_METRIC,)

    def __init__(
        self, model: PerplexityModel, on_tokens: Callable[[float, int], None] = lambda *_: None
    ) -> None:
        self._model = model
        self._on_tokens = on_tokens
        self._turn = asyncio.Lock()

    async def score(self, traces: Sequence[Trace]) -> Sequence[Sequence[Score] | str]:
        """One batch after the other, in a thread."""
        async with self._turn:
            return await asyncio.to_thread(self._score, traces)

    def _score(self, traces: Sequence[Trace]) -> list[list[Score]]:
        texts = [trace.answer or "" for trace in traces]
        try:
            parts: Sequence[TextPerplexity | NotApplicable] = self._model.score(texts).texts
        except NotApplicable as reason:
            parts = [reason] * len(texts)
        return [[make_score(PERPLEXITY_METRIC, self._number(part))] for part in parts]

    def _number(self, part: TextPerplexity | NotApplicable) -> Number:
        if isinstance(part, NotApplicable):
            return _word(part)
        self._on_tokens(part.log_loss, part.tokens)
        return part.value
