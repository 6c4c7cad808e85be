"""BERTScore (Zhang et al. 2020): greedy matching of contextual token embeddings by cosine.

Any Hugging Face encoder will do. Ours rather than bert-score because that library fetches baselines
and model tables by name and does not load a local folder; the arithmetic is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.text.encoder import EncodedText, Encoder
from rag_monitor.metrics.text.overlap import PrecisionRecallF1, f1_of


class BertScorer:
    """Scores pairs with one encoder, every token alike: no idf, no rescaling."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def score(
        self, pairs: Sequence[tuple[str, Sequence[str]]]
    ) -> list[PrecisionRecallF1 | NotApplicable]:
        """Per (text, references) the score against the best reference, or why there is none.

        All texts of one call share batches, and every distinct text is encoded once. A text without
        tokens scores 0.
        """
        distinct = list(dict.fromkeys(t for text, refs in pairs for t in (text, *refs)))
        encoded = dict(zip(distinct, self.encoder.token_embeddings(distinct), strict=True))
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
            scores = self._match([(left, right) for _, left, right in batch])
            for (place, _, _), score in zip(batch, scores, strict=True):
                if place not in best or score.f1 > best[place].f1:
                    best[place] = score
        return [
            best.get(place) or _unmatched(any(encoded[r].inner for r in references), references)
            for place, (_, references) in enumerate(pairs)
        ]

    def _match(self, pairs: Sequence[tuple[EncodedText, EncodedText]]) -> list[PrecisionRecallF1]:
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
            f1_of(_mean(row, candidate), _mean(column, reference))
            for (candidate, reference), row, column in zip(pairs, rows, columns, strict=True)
        ]


def _unmatched(readable: bool, references: Sequence[str]) -> PrecisionRecallF1 | NotApplicable:
    """What a text has that was compared with no reference."""
    if readable:
        return PrecisionRecallF1(0.0, 0.0, 0.0)
    return NotApplicable("no tokens in the reference" if references else "no reference")


def _mean(values: Sequence[float], text: EncodedText) -> float:
    return sum(values[place] for place in text.inner) / len(text.inner)
