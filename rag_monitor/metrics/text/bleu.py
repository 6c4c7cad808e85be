"""BLEU (Papineni et al. 2002): we count n-grams on our own tokens, sacrebleu does the rest.

N-gram counts are clipped to the maximum over the references, and the brevity penalty uses the
reference closest in length. Counts of rows add up to counts of a corpus, so a corpus figure needs
no second pass and no memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from rag_monitor.metrics.text.overlap import reference_tokens, require_references
from rag_monitor.metrics.text.tokens import WORDS, Tokenizer

Smoothing = Literal["none", "floor", "add-k", "exp"]
"""Chen and Cherry 2014: none, method 1 (floor), method 2 (add-k), method 3 (exp)."""

MAX_ORDER = 4


@dataclass(frozen=True, slots=True)
class BleuCounts:
    """What BLEU is computed from, for one row or for many."""

    matches: tuple[int, ...] = (0,) * MAX_ORDER
    """Clipped matches of orders 1 to 4."""
    totals: tuple[int, ...] = (0,) * MAX_ORDER
    """N-grams of the text, orders 1 to 4."""
    length: int = 0
    """Tokens of the text."""
    reference_length: int = 0
    """Tokens of the reference closest in length."""

    def __add__(self, other: BleuCounts) -> BleuCounts:
        return BleuCounts(
            tuple(a + b for a, b in zip(self.matches, other.matches, strict=True)),
            tuple(a + b for a, b in zip(self.totals, other.totals, strict=True)),
            self.length + other.length,
            self.reference_length + other.reference_length,
        )

    def __sub__(self, other: BleuCounts) -> BleuCounts:
        return BleuCounts(
            tuple(a - b for a, b in zip(self.matches, other.matches, strict=True)),
            tuple(a - b for a, b in zip(self.totals, other.totals, strict=True)),
            self.length - other.length,
            self.reference_length - other.reference_length,
        )

    def score(
        self, order: int = MAX_ORDER, smoothing: Smoothing = "exp", *, sentence: bool = False
    ) -> float:
        """BLEU of these counts, 0 to 1.

        Args:
            order: Longest n-gram.
            smoothing: What to do with orders without a match.
            sentence: Leave out orders longer than the text (sacrebleu's effective order).

        Raises:
            ValueError: The order is not between 1 and 4.
        """
        if not 1 <= order <= MAX_ORDER:
            raise ValueError(f"BLEU-{order}: the order is between 1 and {MAX_ORDER}")
        result = _sacrebleu().compute_bleu(
            list(self.matches[:order]),
            list(self.totals[:order]),
            self.length,
            self.reference_length,
            smooth_method=smoothing,
            effective_order=sentence,
            max_ngram_order=order,
        )
        return min(1.0, float(result.score) / 100)


def bleu_counts(text: str, references: Sequence[str], tokenizer: Tokenizer = WORDS) -> BleuCounts:
    """The counts of one row. The last few rows are remembered: four orders in a row see the same.

    Raises:
        NotApplicable: There is no reference.
    """
    require_references(references)
    targets = tuple(tokenizer(reference) for reference in references)
    # The same shape as `bleu` asks for, so that the counts are made once.
    return _counts(tokenizer(text), tuple(t for t in targets if t) or targets[:1])


def bleu(
    text: str,
    references: Sequence[str],
    order: int = MAX_ORDER,
    *,
    smoothing: Smoothing = "exp",
    tokenizer: Tokenizer = WORDS,
) -> float:
    """Sentence BLEU, 0 to 1.

    Orders longer than the text are left out of the geometric mean (sacrebleu's effective order),
    so that a short correct answer is not punished for having no 4-grams. A text without tokens
    scores 0.

    Raises:
        NotApplicable: No reference, or no tokens in any reference.
    """
    targets = reference_tokens(references, tokenizer)
    hypothesis = tokenizer(text)
    if not hypothesis:
        return 0.0
    return _counts(hypothesis, targets).score(order, smoothing, sentence=True)


@lru_cache(maxsize=64)
def _counts(text: tuple[str, ...], references: tuple[tuple[str, ...], ...]) -> BleuCounts:
    length = len(text)
    # Ties go to the shorter reference, as in mteval and sacrebleu.
    closest = min((abs(len(r) - length), len(r)) for r in references)[1]
    matches, totals = [], []
    for order in range(1, MAX_ORDER + 1):
        grams = Counter(_grams(text, order))
        reference_grams = Counter(_grams(references[0], order))
        for reference in references[1:]:
            reference_grams |= Counter(_grams(reference, order))
        matches.append(
            sum(min(grams[g], reference_grams[g]) for g in grams.keys() & reference_grams.keys())
        )
        totals.append(max(0, length - order + 1))
    return BleuCounts(tuple(matches), tuple(totals), length, closest)


def _grams(tokens: Sequence[str], order: int) -> Iterable[Any]:
    if order == 1:
        return tokens
    return zip(*(tokens[start:] for start in range(order)), strict=False)


@lru_cache(maxsize=1)
def _sacrebleu() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU
