"""The passages of one request, taken together, so that every claim can be looked up."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.judges.embedded.lazily import lazily
from rag_monitor.judges.embedded.lexicon import WEIGHTS
from rag_monitor.judges.embedded.pieces import Passage, Piece
from rag_monitor.judges.embedded.stated import Sort, Stated, Value, agree
from rag_monitor.language import labelled
from rag_monitor.language.dates import Date
from rag_monitor.language.labelled import Label
from rag_monitor.language.numbers import TIME, Quantity
from rag_monitor.language.stems import GRAMMAR

_MOST_VALUES: Final = 200
"""Values of one sort among which a place is looked for; a table has more, and rows besides."""
_ROUNDING: Final = 0.051
"""Numbers further apart than this share of the stated one are never the same, rounded or not."""


@dataclass(eq=False)
class Evidence:
    """All passages of a request and its question."""

    passages: list[Passage]
    question: Piece
    sentences: list[Piece] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    """Index of the passage of each sentence."""

    @classmethod
    def build(
        cls,
        contexts: Sequence[str],
        question: str,
        passage: Callable[[str], Passage] = Passage,
    ) -> Evidence:
        """Cut and index `contexts`; an empty passage has no sentences but keeps its index."""
        passages = [passage(text) for text in contexts]
        sentences = [piece for found in passages for piece in found.sentences]
        owners = [index for index, found in enumerate(passages) for _ in found.sentences]
        return cls(passages, Piece(question), sentences, owners)

    @lazily
    def terms(self) -> frozenset[str]:
        """Terms of all passages."""
        return frozenset().union(*[passage.terms for passage in self.passages])

    @lazily
    def known(self) -> frozenset[str]:
        """Terms of all passages and of the question."""
        return self.terms | self.question.terms

    @lazily
    def quantities(self) -> list[tuple[Quantity, Piece]]:
        """Every quantity with the sentence it stands in."""
        return [found for passage in self.passages for found in passage.quantities]

    @lazily
    def _by_value(self) -> tuple[list[float], list[tuple[Quantity, Piece]]]:
        ordered = sorted(self.quantities, key=lambda found: found[0].value)
        return [quantity.value for quantity, _ in ordered], ordered

    def equal(self, quantity: Quantity) -> list[Piece]:
        """The sentences that state a quantity, in no order."""
        if quantity.kind == TIME:  # half a day apart, two may be the same
            return [piece for other, piece in self.quantities if quantity.equals(other)]
        values, ordered = self._by_value
        reach = _ROUNDING * max(1.0, abs(quantity.value))
        low = bisect_left(values, quantity.value - reach)
        high = bisect_right(values, quantity.value + reach)
        return [piece for other, piece in ordered[low:high] if quantity.equals(other)]

    def differs(self, value: Value, sort: Sort) -> bool:
        """Whether passages hold another value of the sort, and not a whole table of them."""
        known = [v for passage in self.passages for v in passage.values.get(sort, ())]
        return len(known) <= _MOST_VALUES and any(not agree(value, other) for other in known)

    def stated(self, sort: Sort) -> list[Stated]:
        """Every number or day of a sort, with what it is said of."""
        return [found for passage in self.passages for found in passage.stated(sort)]

    @lazily
    def dates(self) -> list[tuple[Date, Piece]]:
        """Every date with the sentence it stands in."""
        return [found for passage in self.passages for found in passage.dates]

    @lazily
    def labels(self) -> frozenset[Label]:
        """Models, versions and articles that the passages and the question name."""
        return labelled.labels(self.question.folded).union(*[p.labels for p in self.passages])

    @lazily
    def ordinals(self) -> frozenset[Label]:
        """What the passages and the question count."""
        return labelled.ordinals(self.question.folded).union(*[p.ordinals for p in self.passages])

    @lazily
    def rows(self) -> list[tuple[Piece, frozenset[str]]]:
        """Rows of tables in Markdown, heads left out, with the terms of their first cell."""
        return [row for passage in self.passages for row in passage.rows]

    @lazily
    def weights(self) -> dict[str, float]:
        """Background weights, looked up once."""
        return WEIGHTS

    @lazily
    def joined(self) -> str:
        """All passages as one folded text, for finding names and verbatim claims."""
        return "\n".join([passage.folded for passage in self.passages])

    def knows(self, word: str) -> bool:
        """Whether a content word stands in a passage or in the question."""
        return (word not in GRAMMAR and self.holds(word)) or word in self.question.terms

    def holds(self, token: str) -> bool:
        """Whether a token stands in a passage."""
        for passage in self.passages:  # noqa: SIM110 - a generator takes twice as long
            if token in passage.token_set:
                return True
        return False

    def places(self, wanted: frozenset[str]) -> dict[str, list[int]]:
        """Each of the `wanted` terms to the numbers of the sentences that hold it."""
        found: dict[str, list[int]] = {}
        for number, piece in enumerate(self.sentences):
            for term in wanted & piece.terms:
                found.setdefault(term, []).append(number)
        return found
