"""The passages of one request, cut and indexed once, so that every claim can be looked up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rag_monitor.judges.embedded.lexicon import background
from rag_monitor.language.dates import Date, find_dates
from rag_monitor.language.normalise import fold
from rag_monitor.language.numbers import Quantity, find_quantities
from rag_monitor.language.polarity import negated_heads
from rag_monitor.language.sentences import split_sentences
from rag_monitor.language.tokens import is_content, terms, tokenise


class Piece:
    """A folded stretch of text with what matching needs, computed when first asked for."""

    __slots__ = ("__dict__", "folded", "passage", "text")

    def __init__(self, text: str, passage: int = 0) -> None:
        self.text = text
        self.passage = passage
        self.folded = fold(text)

    @cached_property
    def tokens(self) -> list[str]:
        """All tokens in order."""
        return tokenise(self.folded)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Content tokens and Han bigrams."""
        if self.folded.isascii():
            return frozenset(filter(is_content, self.tokens))
        return frozenset(terms(self.tokens))

    @cached_property
    def denied(self) -> frozenset[str]:
        """Heads that a negation precedes."""
        return negated_heads(self.folded)

    @cached_property
    def dates(self) -> tuple[Date, ...]:
        """Dates in order."""
        return tuple(find_dates(self.folded))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Quantities that are no part of a date, in order."""
        return tuple(find_quantities(self.folded, tuple((d.start, d.end) for d in self.dates)))


@dataclass(slots=True, eq=False)
class Passage:
    """One retrieved passage and its sentences."""

    index: int
    folded: str
    sentences: list[Piece]
    terms: frozenset[str]


@dataclass(eq=False)
class Evidence:
    """All passages of a request and its question."""

    passages: list[Passage]
    question: Piece
    sentences: list[Piece] = field(default_factory=list)

    @classmethod
    def build(cls, contexts: Sequence[str], question: str) -> Evidence:
        """Cut and index `contexts`; an empty passage has no sentences but keeps its index."""
        passages = []
        for index, text in enumerate(contexts):
            pieces = [Piece(span.text, index) for span in split_sentences(text)]
            together = frozenset().union(*(piece.terms for piece in pieces))
            passages.append(
                Passage(index, " ".join(piece.folded for piece in pieces), pieces, together)
            )
        sentences = [piece for passage in passages for piece in passage.sentences]
        return cls(passages, Piece(question), sentences)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Terms of all passages."""
        return frozenset().union(*(passage.terms for passage in self.passages))

    @cached_property
    def tokens(self) -> list[str]:
        """Tokens of all passages in order."""
        return [token for piece in self.sentences for token in piece.tokens]

    @cached_property
    def bigrams(self) -> frozenset[tuple[str, str]]:
        """Neighbouring content tokens of all passages."""
        found: set[tuple[str, str]] = set()
        for piece in self.sentences:
            content = [token for token in piece.tokens if is_content(token)]
            found.update(itertools.pairwise(content))
        return frozenset(found)

    @cached_property
    def trigrams(self) -> frozenset[tuple[str, str, str]]:
        """Three neighbouring tokens, function words included."""
        tokens = self.tokens
        return frozenset(zip(tokens, tokens[1:], tokens[2:], strict=False))

    @cached_property
    def quantities(self) -> list[tuple[Quantity, Piece]]:
        """Every quantity with the sentence it stands in."""
        return [(q, piece) for piece in self.sentences for q in piece.quantities]

    @cached_property
    def dates(self) -> list[tuple[Date, Piece]]:
        """Every date with the sentence it stands in."""
        return [(d, piece) for piece in self.sentences for d in piece.dates]

    @cached_property
    def weights(self) -> dict[str, float]:
        """Background weights, looked up once."""
        return background()

    @cached_property
    def postings(self) -> dict[str, list[int]]:
        """Term to the numbers of the sentences that hold it."""
        found: dict[str, list[int]] = {}
        for number, piece in enumerate(self.sentences):
            for term in piece.terms:
                found.setdefault(term, []).append(number)
        return found

    @cached_property
    def joined(self) -> str:
        """All passages as one folded text, for finding names and verbatim claims."""
        return "\n".join(passage.folded for passage in self.passages)


def lcs_length(pattern: Sequence[str], text: Sequence[str]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004).

    Tokens of `text` that are not in `pattern` cost one dictionary look-up.
    """
    masks: dict[str, int] = {}
    for position, token in enumerate(pattern):
        masks[token] = masks.get(token, 0) | (1 << position)
    full = (1 << len(pattern)) - 1
    row = full
    for token in text:
        mask = masks.get(token)
        if mask:
            matched = row & mask
            row = ((row + matched) | (row - matched)) & full
    return len(pattern) - row.bit_count()
