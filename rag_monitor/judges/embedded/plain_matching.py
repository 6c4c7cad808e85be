"""Words of statements found among words of passages, by tables in numpy.

Tokens are numbers, so that words and pairs are found by table, not one by one. Place 0 stands for
words of the passages that no statement holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, compress, count
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_monitor.language.tokens import is_han
from rag_monitor.language.vocabulary import Words, terms_among

Numbers = NDArray[np.intp]
Weights = NDArray[np.float64]

MatchFields = tuple[int | None, float, float, float, list[float], frozenset[str]]
"""The fields of a `Match`."""
Compared = tuple[list[str], bytes, list[MatchFields]]
"""All terms; for each of them a byte a passage, 1 where it stands there; what was found of each
statement."""

_UNSAID: Final = 0
_FREE: Final = 1
"""The first place of a word that a statement holds."""
_BLOCK: Final = 512
"""Sentences scored at a time, which bounds the memory that the longest input takes."""


class Scoring(NamedTuple):
    """How the best sentence is chosen."""

    given: float
    """What a term of the question weighs when a claim repeats it."""
    length_costs: float
    """What each token of a sentence costs it, so that of two equally good the shorter is chosen."""
    never_longer: float
    """A sentence that covers so much less is not chosen for being short."""
    alike: float
    """Sums that differ by less than one of these parts are equal."""


def compare(
    claims: Sequence[bytes],
    passages: Sequence[tuple[bytes, list[int]]],
    vocabulary: Words,
    grammar: int,
    weights: Mapping[str, float],
    question_terms: frozenset[str],
    scoring: Scoring,
) -> Compared:
    """Look all statements up in all passages.

    Args:
        claims: The words of each statement, as `Words.numbers` reads them. Its terms are those
            with a meaning, and pairs of Han characters.
        passages: The words of each passage, and how many each of its sentences has.
        vocabulary: What numbered the words.
        grammar: Words numbered up to this have no meaning of their own.
        weights: What each term weighs.
        question_terms: The terms of the question.
        scoring: How the best sentence is chosen.
    """
    return _Comparison(
        claims, passages, vocabulary, grammar, weights, question_terms, scoring
    ).result()


class _Comparison:
    def __init__(
        self,
        claims: Sequence[bytes],
        passages: Sequence[tuple[bytes, list[int]]],
        vocabulary: Words,
        grammar: int,
        weights: Mapping[str, float],
        question_terms: frozenset[str],
        scoring: Scoring,
    ) -> None:
        claim_words = [np.frombuffer(numbers, np.int32) for numbers in claims]
        everything = np.concatenate([np.empty(0, np.int32), *claim_words])
        self._spoken = np.unique(everything)
        self._size = _FREE + len(self._spoken)
        self._scoring = scoring
        common = frozenset(vocabulary.words[1 : grammar + 1])
        self._claims = [
            terms_among([vocabulary.words[number] for number in numbers.tolist()], common)
            for numbers in claim_words
        ]
        words = np.concatenate(
            [np.empty(0, np.int32), *[np.frombuffer(w, np.int32) for w, _ in passages]]
        )
        lengths = np.array([length for _, own in passages for length in own], np.intp)
        self._read = self._places_of(words)
        self._where = np.arange(len(lengths)).repeat(lengths)
        self._costs = scoring.length_costs * lengths
        self._sizes = [len(own) for _, own in passages]
        self._terms = list(frozenset().union(*self._claims))
        self._rows = dict(zip(self._terms, count(), strict=False))
        self._held_in = self._find(vocabulary)
        self._background = weights
        self._question_terms = question_terms

    def _places_of(self, words: NDArray[np.int32]) -> Numbers:
        """The place of each word of the passages."""
        if not len(self._spoken):
            return np.full(len(words), _UNSAID)
        near = np.minimum(np.searchsorted(self._spoken, words), len(self._spoken) - 1)
        return np.where(self._spoken[near] == words, near + _FREE, _UNSAID)

    def _find(self, vocabulary: Words) -> NDArray[np.bool_]:
        """Which terms stand in which sentences, one row a term."""
        read, where = self._read, self._where
        held = np.zeros((len(self._terms), len(self._costs)), bool)
        row_of = np.full(self._size, -1)
        place_of = dict(zip(self._spoken.tolist(), count(_FREE), strict=False))
        number_of = vocabulary.index
        pairs: dict[int, int] = {}
        for row, term in enumerate(self._terms):
            if _is_pair(term):
                first, second = (place_of[number_of[char]] for char in term)
                pairs[first * self._size + second] = row
            else:
                row_of[place_of[number_of[term]]] = row
        rows = row_of[read]
        held[rows[rows >= 0], where[rows >= 0]] = True
        if pairs and len(read) > 1:
            table = np.zeros(self._size**2, np.int32)
            table[list(pairs)] = np.fromiter(pairs.values(), np.int32) + 1
            held_pairs = table[read[:-1] * self._size + read[1:]]
            hits = ((held_pairs > 0) & (where[:-1] == where[1:])).nonzero()[0]
            held[held_pairs[hits] - 1, where[hits]] = True
        return held

    def _by_passage(self) -> NDArray[np.bool_]:
        """Which terms stand in which passages."""
        held = np.zeros((len(self._terms), len(self._sizes)), bool)
        filled = [number for number, size in enumerate(self._sizes) if size]
        if filled:
            starts = list(accumulate(self._sizes, initial=0))
            held[:, filled] = np.logical_or.reduceat(
                self._held_in, [starts[number] for number in filled], axis=1
            )
        return held

    def result(self) -> Compared:
        add = np.add.reduce
        held = self._by_passage()
        seen = np.logical_or.reduce(held, axis=1)
        weights, question_weights = self._weigh()
        totals = add(weights, axis=1)
        own = weights * ~question_weights
        best, scores = self._best(weights)
        seen_terms = frozenset(compress(self._terms, seen.tolist()))
        columns = (
            [place if score else None for place, score in zip(best, scores, strict=True)],
            totals.tolist(),
            # Rounded, for whether a check counts must not hang on the last bit of a sum.
            [
                round(min(1.0, s / t), 9) if s else 0.0
                for s, t in zip(scores, totals.tolist(), strict=True)
            ],
            add(own, axis=1).tolist(),
            (own @ held).tolist(),
            [terms - seen_terms for terms in self._claims],
        )
        return self._terms, held.tobytes(), list(zip(*columns, strict=True))

    def _weigh(self) -> tuple[Weights, NDArray[np.bool_]]:
        """Weight of each term in each statement, and which terms the question gave."""
        base = np.array([self._background[term] for term in self._terms])
        given = np.zeros(len(base), bool)
        given[[self._rows[term] for term in self._question_terms.intersection(self._rows)]] = True
        base[given] *= self._scoring.given
        sizes = list(map(len, self._claims))
        row = self._rows.__getitem__
        rows = np.fromiter(map(row, chain.from_iterable(self._claims)), np.intp, sum(sizes))
        weights = np.zeros((len(self._claims), len(base)))
        weights[np.repeat(np.arange(len(sizes)), sizes), rows] = base[rows]
        return weights, given

    def _best(self, weights: Weights) -> tuple[list[int], list[float]]:
        """Per statement the sentence that covers most, and how much.

        Of equals the shorter is taken, then the first.
        """
        sentences = len(self._costs)
        if not sentences:
            return [0] * len(weights), [0.0] * len(weights)
        scores = np.empty((len(weights), sentences))
        for start in range(0, sentences, _BLOCK):
            block = self._held_in[:, start : start + _BLOCK]
            np.matmul(weights, block.astype(float), out=scores[:, start : start + _BLOCK])
        highest = np.maximum.reduce(scores, axis=1, keepdims=True)
        near = scores >= highest - self._scoring.never_longer
        worth = np.rint((scores - self._costs) * self._scoring.alike)
        best = np.where(near & (scores > 0), worth, -np.inf).argmax(axis=1)
        return best.tolist(), scores[np.arange(len(best)), best].tolist()


def _is_pair(term: str) -> bool:
    return len(term) == 2 and is_han(term[0]) and is_han(term[1])


def lcs_length(pattern: bytes, text: bytes) -> int:
    """Length of the longest common subsequence of packed numbers, bit-parallel (Hyyrö 2004).

    Words of `text` that are not in `pattern` cost one look-up.
    """
    masks: dict[int, int] = {}
    own = memoryview(pattern).cast("i")
    for position, number in enumerate(own):
        masks[number] = masks.get(number, 0) | (1 << position)
    full = (1 << len(own)) - 1
    row = full
    for mask in [masks[number] for number in memoryview(text).cast("i") if number in masks]:
        matched = row & mask
        row = ((row + matched) | (row - matched)) & full
    return len(own) - row.bit_count()
