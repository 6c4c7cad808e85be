"""Semantic similarity: cosine of mean-pooled token embeddings of a text and its reference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.text.encoder import Encoder


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Cosine of two vectors, -1 to 1.

    Raises:
        NotApplicable: One of them has no direction (norm 0).
        ValueError: Their widths differ.
    """
    if len(left) != len(right):
        raise ValueError(f"vectors of width {len(left)} and {len(right)}")
    norms = math.hypot(*left) * math.hypot(*right)
    if not norms:
        raise NotApplicable("a vector of norm 0")
    value = math.fsum(a * b for a, b in zip(left, right, strict=True)) / norms
    return max(-1.0, min(1.0, value))


class SimilarityScorer:
    """Scores pairs with one encoder; a text is encoded once per call, however often it occurs."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def score(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[float | NotApplicable]:
        """Per (text, references) the cosine with the closest reference, or why there is none.

        A text without tokens has a cosine of 0.
        """
        texts = list(dict.fromkeys(t for text, refs in pairs for t in (text, *refs)))
        vectors = dict(zip(texts, self._pooled(texts), strict=True))
        return [self._best(vectors, text, references) for text, references in pairs]

    def _pooled(self, texts: Sequence[str]) -> list[list[float] | None]:
        pooled: list[list[float] | None] = []
        for encoded in self.encoder.token_embeddings(texts):
            inner = encoded.vectors[list(encoded.inner)] if encoded.inner else None
            pooled.append(None if inner is None else inner.mean(dim=0).tolist())
        return pooled

    def _best(
        self, vectors: dict[str, list[float] | None], text: str, references: Sequence[str]
    ) -> float | NotApplicable:
        if not references:
            return NotApplicable("no reference")
        left = vectors[text]
        usable = [right for right in map(vectors.__getitem__, references) if right and any(right)]
        if not usable:
            return NotApplicable("no tokens in the reference")
        if left is None or not any(left):
            return 0.0
        return max(cosine(left, right) for right in usable)
