"""ROUGE-1, -2, -L and -S (Lin 2004) with precision, recall and F1.

Ours rather than rouge-score because that library cuts ASCII words only, has no ROUGE-S, no term
weights, and a quadratic longest common subsequence; the tests hold ours against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from rag_monitor.metrics.text.overlap import PrecisionRecallF1, f1_of, reference_tokens
from rag_monitor.metrics.text.tokens import WORDS, Tokenizer

Variant = Literal["1", "2", "L", "S"]

SKIP_DISTANCE = 4
"""ROUGE-S counts pairs with at most this many tokens between them (ROUGE-S4)."""


def rouge(
    text: str,
    references: Sequence[str],
    variant: Variant = "L",
    *,
    tokenizer: Tokenizer = WORDS,
    weights: Mapping[str, float] | None = None,
) -> PrecisionRecallF1:
    """One ROUGE variant against the closest of one or more references.

    Args:
        text: What was generated.
        references: What it should say.
        variant: `1`, `2`, `L` or `S`.
        tokenizer: How both sides are cut.
        weights: Weight of a token (key terms above 1, default 1). An n-gram weighs the mean of its
            tokens; the longest common subsequence becomes the heaviest one.

    Raises:
        NotApplicable: No reference, or no tokens in any reference.
    """
    targets = reference_tokens(references, tokenizer)
    candidate = tokenizer(text)
    scores = [_one(candidate, target, variant, weights) for target in targets]
    return max(scores, key=lambda s: s.f1)


def _one(
    candidate: Sequence[str],
    target: Sequence[str],
    variant: Variant,
    weights: Mapping[str, float] | None,
) -> PrecisionRecallF1:
    if variant == "L":
        if weights:
            common = _heaviest_common(candidate, target, weights)
            return _ratio(common, _weigh(candidate, weights), _weigh(target, weights))
        return _ratio(longest_common_subsequence(candidate, target), len(candidate), len(target))
    grams = _GRAMS[variant]
    left, right = grams(candidate), grams(target)
    if not weights:
        return _ratio((left & right).total(), left.total(), right.total())
    return _ratio(
        _weigh_grams(left & right, weights),
        _weigh_grams(left, weights),
        _weigh_grams(right, weights),
    )


def _ratio(common: float, candidate: float, target: float) -> PrecisionRecallF1:
    # Sums of weights in another order may differ in the last bit.
    return f1_of(*(min(1.0, common / whole) if whole else 0.0 for whole in (candidate, target)))


def longest_common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence.

    Bit-parallel (Hyyrö 2004): one big-integer step per token of `right` instead of one step per
    pair of tokens.
    """
    if not left or not right:
        return 0
    masks: dict[str, int] = {}
    for place, token in enumerate(left):
        masks[token] = masks.get(token, 0) | (1 << place)
    full = (1 << len(left)) - 1
    row = full
    for mask in filter(None, map(masks.get, right)):
        matches = row & mask
        row = ((row + matches) | (row - matches)) & full
    return len(left) - row.bit_count()


def _heaviest_common(
    left: Sequence[str], right: Sequence[str], weights: Mapping[str, float]
) -> float:
    row = [0.0] * (len(right) + 1)
    for token in left:
        above = 0.0
        weight = weights.get(token, 1.0)
        for place, other in enumerate(right, start=1):
            kept = row[place]
            if token == other:
                row[place] = max(row[place], above + weight)
            else:
                row[place] = max(row[place], row[place - 1])
            above = kept
    return row[-1]


def _unigrams(tokens: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter((token,) for token in tokens)


def _bigrams(tokens: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(pairwise(tokens))


def _skip_bigrams(tokens: Sequence[str]) -> Counter[tuple[str, ...]]:
    reach = SKIP_DISTANCE + 2
    return Counter(
        (first, second)
        for place, first in enumerate(tokens)
        for second in tokens[place + 1 : place + reach]
    )


_GRAMS: Mapping[str, Callable[[Sequence[str]], Counter[tuple[str, ...]]]] = {
    "1": _unigrams,
    "2": _bigrams,
    "S": _skip_bigrams,
}


def _weigh(tokens: Sequence[str], weights: Mapping[str, float]) -> float:
    return sum(weights.get(token, 1.0) for token in tokens)


def _weigh_grams(grams: Counter[tuple[str, ...]], weights: Mapping[str, float]) -> float:
    return sum(
        count * sum(weights.get(token, 1.0) for token in gram) / len(gram)
        for gram, count in grams.items()
    )
