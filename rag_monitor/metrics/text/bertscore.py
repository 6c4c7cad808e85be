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

        All texts of one call share batches, and every distinct text is encoded once. A text without
        tokens scores 0.
        """
        distinct = list(dict.fromkeys(t for text, refs in pairs for t in (text, *refs)))
        encoded = dict(zip(distinct, self.encoder.token_embeddings(distinct), strict=True))
        weights = self._weights([r for _, refs in pairs for r in refs], encoded)
        scorable = [
            (place, encoded[text], encoded[reference])
            for place, (text, references) in enumerate(pairs)
            for reference in references
            if encoded[text].inner and encoded[reference].inner
        ]
        best: dict[int, PrecisionRecallF1] = {}
        # Pairs of similar length together: padding is computed like any other token.
        scorable.sort(key=lambda item: len(item[1].ids) + len(item[2].ids))
        for begin in range(0, len(scorable), self.encoder.batch_size):
            batch = scorable[begin : begin + self.encoder.batch_size]
            scores = self._match([(left, right) for _, left, right in batch], weights)
            for (place, _, _), score in zip(batch, scores, strict=True):
                if place not in best or score.f1 > best[place].f1:
                    best[place] = score
        return [
            best.get(place) or _unmatched(any(encoded[r].inner for r in references), references)
            for place, (_, references) in enumerate(pairs)
        ]

    def _match(
        self,
        pairs: Sequence[tuple[EncodedText, EncodedText]],
        weights: Mapping[int, float] | None,
    ) -> list[PrecisionRecallF1]:
        """One product for the whole batch, on the encoder's device.

        Special tokens may be matched but are not counted, as in the reference implementation.
        """
        import torch

        sides = [
            torch.nn.utils.rnn.pad_sequence([t.vectors for t in side], batch_first=True)
            for side in zip(*pairs, strict=True)
        ]
        real = [
            torch.tensor(
                [[n < len(t.ids) for n in range(padded.shape[1])] for t in side],
                device=padded.device,
            )
            for side, padded in zip(zip(*pairs, strict=True), sides, strict=True)
        ]
        # The product of two unit vectors may pass 1 in the last bit; a cosine does not.
        cosines = (sides[0] @ sides[1].transpose(1, 2)).clamp(-1.0, 1.0)
        lowest = -2.0  # below every cosine: padding is never the best match
        rows = cosines.masked_fill(~real[1][:, None, :], lowest).amax(dim=2).tolist()
        columns = cosines.masked_fill(~real[0][:, :, None], lowest).amax(dim=1).tolist()
        return [
            self._rescaled(_mean(row, candidate, weights), _mean(column, reference, weights))
            for (candidate, reference), row, column in zip(pairs, rows, columns, strict=True)
        ]

    def _rescaled(self, precision: float, recall: float) -> PrecisionRecallF1:
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


def _unmatched(readable: bool, references: Sequence[str]) -> PrecisionRecallF1 | NotApplicable:
    """What a text has that was compared with no reference."""
    if readable:
        return PrecisionRecallF1(0.0, 0.0, 0.0)
    return NotApplicable("no tokens in the reference" if references else "no reference")


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
