"""Where the words of an answer stand in the passages: all statements against all sentences at once.

Tokens become numbers, so that words, pairs and triples are found by table, not one by one. Numbers
0 and 1 stand for words of the passages that no statement holds, with and without a meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, compress, count, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rag_monitor.judges.embedded.codes import CONTENT, Numbers, present
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.tokens import GRAMMAR

Weights = NDArray[np.float64]

_FREE: Final = 2
"""The first number of a token that a statement holds."""
GIVEN: Final = 0.3
"""What a term of the question weighs when a claim repeats it: little, it was given."""
_LENGTH_COSTS: Final = 0.002
"""What each token of a sentence costs it, so that of two equally good the shorter is chosen."""
_NEVER_LONGER: Final = 2.0
"""A sentence that covers so much less is not chosen for being short (a thousand tokens)."""
_BLOCK: Final = 512
"""Sentences scored at a time, which bounds the memory that the longest input takes."""
_ALIKE: Final = 1e9
"""Sums that differ by less than one of these parts are equal: their order changes the last bit."""


@dataclass(slots=True, eq=False)
class Match:
    """What the passages hold of one statement."""

    best: int | None
    """Number of the sentence that covers most; None when none holds a word of it."""
    total: float
    """Weight of the statement's terms."""
    covered: float
    """Share of it that the best sentence holds."""
    missing: float
    """Weight of the terms that stand in no passage."""
    given: float
    """The part of it that the question gave."""
    own: float
    """Weight of the terms that the question did not give."""
    gains: list[float]
    """How much of that each passage holds."""
    pairs: float
    """Share of its neighbouring content words that are neighbours nowhere."""
    triples: float
    """Share of its runs of three words that stand nowhere."""
    spelled: float = 0.0
    """Weight of terms that no passage holds and that count as seen all the same."""


class Matches:
    """All statements of an answer looked up in the passages of a request."""

    def __init__(self, claims: Sequence[Piece], evidence: Evidence) -> None:
        spoken = frozenset().union(*[claim.token_set for claim in claims])
        grammar, content = list(spoken & GRAMMAR), list(spoken - GRAMMAR)
        self._numbers = dict(zip(chain(grammar, content), count(_FREE), strict=False))
        self._first = _FREE + len(grammar)
        self._size = self._first + len(content)
        pairs = list(frozenset().union(*[c.terms for c in claims]).difference(spoken))
        self._terms = content + pairs
        self._rows = dict(zip(self._terms, count(), strict=False))
        codes = present()
        coded = [passage.coded(codes) for passage in evidence.passages]
        lengths = np.concatenate([np.empty(0, np.intp), *[c.lengths for c in coded]])
        words = np.concatenate([np.empty(0, np.int32), *[c.words for c in coded]])
        self._read = codes.translated(words, grammar, content, _FREE)
        self._where = np.arange(len(lengths)).repeat(lengths)
        self._costs = _LENGTH_COSTS * lengths
        self._evidence = evidence
        self._places = self._find(len(content), pairs)
        self._held = self._by_passage()
        seen = np.logical_or.reduce(self._held, axis=1)
        self.seen = frozenset(compress(self._terms, seen.tolist()))
        """Terms of the statements that stand in a passage."""
        self.known = self.seen | evidence.question.terms
        """These and the terms of the question."""
        self._seen = seen
        self.of = self._all(claims)
        """What was found of each statement, in order."""

    def held(self, term: str) -> list[bool]:
        """Which passages hold a term of the statements."""
        found: list[bool] = self._held[self._rows[term]].tolist()
        return found

    def _find(self, content: int, pairs: Sequence[str]) -> NDArray[np.bool_]:
        """Which terms stand in which sentences, one row a term."""
        read, where = self._read, self._where
        places = np.zeros((len(self._terms), len(self._costs)), bool)
        wanted = read >= self._first
        places[read[wanted] - self._first, where[wanted]] = True
        if pairs and len(read) > 1:
            table = np.zeros(self._size**2, np.int32)
            numbers = self._numbers
            table[[numbers[pair[0]] * self._size + numbers[pair[1]] for pair in pairs]] = range(
                1, len(pairs) + 1
            )
            found = table[read[:-1] * self._size + read[1:]]
            hits = ((found > 0) & (where[:-1] == where[1:])).nonzero()[0]
            places[found[hits] + (content - 1), where[hits]] = True
        return places

    def _by_passage(self) -> NDArray[np.bool_]:
        """Which terms stand in which passages."""
        sizes = [len(passage.sentences) for passage in self._evidence.passages]
        held = np.zeros((len(self._terms), len(sizes)), bool)
        filled = [number for number, size in enumerate(sizes) if size]
        if filled:
            starts = list(accumulate(sizes, initial=0))
            held[:, filled] = np.logical_or.reduceat(
                self._places, [starts[number] for number in filled], axis=1
            )
        return held

    def _all(self, claims: Sequence[Piece]) -> list[Match]:
        tokens = list(chain.from_iterable([c.tokens for c in claims]))
        said = np.fromiter(map(self._numbers.__getitem__, tokens), np.intp, len(tokens))
        owner = np.arange(len(claims)).repeat([len(c.tokens) for c in claims])
        add = np.add.reduce
        weights, asked = self._weigh(claims)
        totals = add(weights, axis=1)
        own = weights * ~asked
        unseen = weights * ~self._seen
        best, scores = self._best(weights)
        columns = (
            [place if score else None for place, score in zip(best, scores, strict=True)],
            totals.tolist(),
            # Rounded, for whether a check counts must not hang on the last bit of a sum.
            [
                round(min(1.0, s / t), 9) if s else 0.0
                for s, t in zip(scores, totals.tolist(), strict=True)
            ],
            add(unseen, axis=1).tolist(),
            (unseen @ asked).tolist(),
            add(own, axis=1).tolist(),
            (own @ self._held).tolist(),
            self._unseen_pairs(said, owner, len(claims)),
            self._unseen_triples(said, owner, len(claims)),
        )
        return [Match(*found) for found in zip(*columns, strict=True)]

    def _weigh(self, claims: Sequence[Piece]) -> tuple[Weights, NDArray[np.bool_]]:
        """Weight of each term in each statement, and which terms the question gave."""
        background, asked = self._evidence.weights, self._evidence.question.terms
        base = np.array([background[term] for term in self._terms])
        given = np.zeros(len(base), bool)
        given[[self._rows[term] for term in asked.intersection(self._rows)]] = True
        base[given] *= GIVEN
        terms = [claim.terms for claim in claims]
        sizes = list(map(len, terms))
        row = self._rows.__getitem__
        rows = np.fromiter(map(row, chain.from_iterable(terms)), np.intp, sum(sizes))
        weights = np.zeros((len(claims), len(base)))
        weights[np.repeat(np.arange(len(claims)), sizes), rows] = base[rows]
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
            block = self._places[:, start : start + _BLOCK]
            np.matmul(weights, block.astype(float), out=scores[:, start : start + _BLOCK])
        near = scores >= np.maximum.reduce(scores, axis=1, keepdims=True) - _NEVER_LONGER
        worth = np.where(near & (scores > 0), np.rint((scores - self._costs) * _ALIKE), -np.inf)
        best = worth.argmax(axis=1)
        return best.tolist(), scores[np.arange(len(best)), best].tolist()

    def _unseen_triples(self, said: Numbers, owner: Numbers, claims: int) -> list[float]:
        """Share of each statement's runs of three tokens that stand in no passage."""
        if len(said) < 3:
            return [0.0] * claims
        pairs = said[:-1] * self._size + said[1:]
        table = np.zeros(self._size**2, np.int32)
        table[pairs] = np.arange(1, len(pairs) + 1)
        known = np.zeros((len(pairs) + 1) * self._size, bool)
        if len(self._read) > 2:
            first = table[self._read[:-2] * self._size + self._read[1:-1]].astype(np.intp)
            known[first * self._size + self._read[2:]] = True
        seen = known[table[pairs[:-1]].astype(np.intp) * self._size + said[2:]]
        within = owner[:-2] == owner[2:]
        return _shares_unseen(seen[within], owner[:-2][within], claims)

    def _unseen_pairs(self, said: Numbers, owner: Numbers, claims: int) -> list[float]:
        """Share of each statement's neighbouring content tokens that are so in no sentence."""
        known = np.zeros(self._size**2, bool)
        kept = (self._read >= self._first) | (self._read == CONTENT)
        read, where = self._read[kept], self._where[kept]
        known[(read[:-1] * self._size + read[1:])[where[:-1] == where[1:]]] = True
        kept = said >= self._first
        said, owner = said[kept], owner[kept]
        within = owner[:-1] == owner[1:]
        seen = known[(said[:-1] * self._size + said[1:])[within]]
        return _shares_unseen(seen, owner[:-1][within], claims)


def _shares_unseen(seen: NDArray[np.bool_], owner: Numbers, claims: int) -> list[float]:
    """Per statement, the share of its entries that were not seen; 0 when it has none."""
    stops = np.searchsorted(owner, np.arange(claims + 1)).tolist()
    marks = seen.tolist()
    return [
        1 - sum(marks[start:stop]) / (stop - start) if stop > start else 0.0
        for start, stop in pairwise(stops)
    ]
