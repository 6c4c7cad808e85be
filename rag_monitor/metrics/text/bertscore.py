"""BERTScore (Zhang et al. 2020): greedy matching of contextual token embeddings by cosine.

Any Hugging Face encoder will do. Ours rather than bert-score because that library fetches baselines
and model tables by name and does not load a local folder; the arithmetic is theirs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.text.encoder import EncodedText, Encoder
from rag_monitor.metrics.text.overlap import PrecisionRecallF1, f1_of


class BertScorer:
    """Scores pairs with one encoder.

    Args:
        encoder: Where embeddings come from.
        idf: Weigh tokens by their inverse document frequency over the references of each call.
        baseline: What unrelated pairs score with this encoder and layer (see `estimate_baseline`);
            values are rescaled to (x - baseline) / (1 - baseline), which spreads them out and may
            make them negative.
    """

    def __init__(
        self, encoder: Encoder, *, idf: bool = False, baseline: float | None = None
    ) -> None:
        if baseline is not None and not 0 <= baseline < 1:
            raise ValueError(f"baseline = {baseline}: it lies in [0, 1)")
        self.encoder = encoder
        self._idf = idf
        self.baseline = baseline

    def score(
        self, pairs: Sequence[tuple[str, Sequence[str]]]
    ) -> list[PrecisionRecallF1 | NotApplicable]:
        """Per (text, references) the score against the best reference, or why there is none.

        All texts of one call share batches, and every distinct text is encoded once.
        """
        distinct = list(dict.fromkeys(t for text, refs in pairs for t in (text, *refs)))
        encoded = dict(zip(distinct, self.encoder.token_embeddings(distinct), strict=True))
        weights = self._weights([r for _, refs in pairs for r in refs], encoded)
        results: list[PrecisionRecallF1 | NotApplicable] = []
        for text, references in pairs:
            scores = [
                score
                for score in (self._pair(encoded[text], encoded[r], weights) for r in references)
                if score is not None
            ]
            if scores:
                results.append(max(scores, key=lambda s: s.f1))
            else:
                results.append(NotApplicable("no tokens" if references else "no reference"))
        return results

    def _pair(
        self, found: EncodedText, wanted: EncodedText, weights: Mapping[int, float] | None
    ) -> PrecisionRecallF1 | None:
        if not found.inner or not wanted.inner:
            return None
        # Special tokens may be matched but are not counted, as in the reference implementation.
        cosines = found.vectors @ wanted.vectors.T
        precision = _mean(cosines.max(dim=1).values.tolist(), found, weights)
        recall = _mean(cosines.max(dim=0).values.tolist(), wanted, weights)
        score = f1_of(precision, recall)
        if self.baseline is None:
            return score
        return PrecisionRecallF1(
            *((x - self.baseline) / (1 - self.baseline) for x in (precision, recall, score.f1))
        )

    def _weights(
        self, references: Sequence[str], encoded: Mapping[str, EncodedText]
    ) -> Mapping[int, float] | None:
        if not self._idf:
            return None
        rows = [set(encoded[reference].ids) for reference in references]
        seen = Counter(token for row in rows for token in row)
        n = len(rows)
        unseen = math.log(n + 1)
        weights = {token: math.log((n + 1) / (count + 1)) for token, count in seen.items()}
        return _Default(weights, unseen)


class _Default(dict[int, float]):
    """Weights with one value for every token that no reference has."""

    def __init__(self, values: Mapping[int, float], unseen: float) -> None:
        super().__init__(values)
        self._unseen = unseen

    def __missing__(self, key: int) -> float:
        return self._unseen


def _mean(values: Sequence[float], text: EncodedText, weights: Mapping[int, float] | None) -> float:
    kept = [values[place] for place in text.inner]
    mass = [1.0 if weights is None else weights[text.ids[place]] for place in text.inner]
    total = sum(mass)
    if total == 0:
        # Every token occurs in every reference: idf says nothing, the plain mean does.
        return sum(kept) / len(kept)
    return sum(v * w for v, w in zip(kept, mass, strict=True)) / total


def estimate_baseline(encoder: Encoder, texts: Sequence[str]) -> float:
    """Mean F1 of unrelated pairs: every text against the next one (use 1,000 or more).

    Raises:
        NotApplicable: Fewer than two texts with tokens.
    """
    if len(texts) < 2:
        raise NotApplicable("a baseline needs at least two texts")
    turned = [*texts[1:], texts[0]]
    scores = BertScorer(encoder).score([(a, [b]) for a, b in zip(texts, turned, strict=True)])
    values = [score.f1 for score in scores if isinstance(score, PrecisionRecallF1)]
    if not values:
        raise NotApplicable("no text has tokens")
    return sum(values) / len(values)
