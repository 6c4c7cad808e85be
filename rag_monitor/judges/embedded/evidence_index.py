"""The passages of one request, taken together, so that every claim can be looked up."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.judges.embedded.cached_property import cached_property_unlocked
from rag_monitor.judges.embedded.lexicon import WEIGHTS
from rag_monitor.judges.embedded.segments import IndexedPassage, Segment
from rag_monitor.language.dates import Date
from rag_monitor.language.quantity import TIME, Quantity

_ROUNDING: Final = 0.051
"""Numbers further apart than this share of the stated one are never the same, rounded or not."""


@dataclass(eq=False)
class EvidenceIndex:
    """All passages of a request and its question."""

    passages: list[IndexedPassage]
    question: Segment
    sentences: list[Segment] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    """Index of the passage of each sentence."""

    @classmethod
    def build(
        cls,
        contexts: Sequence[str],
        question: str,
        passage: Callable[[str], IndexedPassage] = IndexedPassage,
    ) -> EvidenceIndex:
        """Cut and index `contexts`; an empty passage has no sentences but keeps its index."""
        passages = [passage(text) for text in contexts]
        sentences = [segment for one in passages for segment in one.sentences]
        owners = [index for index, one in enumerate(passages) for _ in one.sentences]
        return cls(passages, Segment(question), sentences, owners)

    @cached_property_unlocked
    def terms(self) -> frozenset[str]:
        """Terms of all passages."""
        return frozenset().union(*[passage.terms for passage in self.passages])

    @cached_property_unlocked
    def quantities(self) -> list[tuple[Quantity, Segment]]:
        """Every quantity with the sentence it stands in."""
        return [located for passage in self.passages for located in passage.quantities]

    @cached_property_unlocked
    def _by_value(self) -> tuple[list[float], list[tuple[Quantity, Segment]]]:
        """Every quantity by its value and, in another place, by its value in the base unit."""
        placed = [(value, located) for located in self.quantities for value in _values(located[0])]
        placed.sort(key=lambda place: place[0])
        return [value for value, _ in placed], [located for _, located in placed]

    def equal(self, quantity: Quantity) -> list[Segment]:
        """The sentences that state a quantity, in no order; one may be there twice."""
        if quantity.kind == TIME:  # half a day apart, two may be the same
            return [segment for other, segment in self.quantities if quantity.equals(other)]
        values, ordered = self._by_value
        stating = []
        for value in _values(quantity):
            reach = _ROUNDING * max(1.0, abs(value))
            low, high = bisect_left(values, value - reach), bisect_right(values, value + reach)
            stating += [segment for other, segment in ordered[low:high] if quantity.equals(other)]
        return stating

    def beside(self, sentence: Segment | None) -> list[Quantity]:
        """The quantities of the passage of a sentence."""
        passages = [p for p in self.passages if any(own is sentence for own in p.sentences)]
        return [quantity for passage in passages for quantity, _ in passage.quantities]

    @cached_property_unlocked
    def dates(self) -> list[tuple[Date, Segment]]:
        """Every date with the sentence it stands in."""
        return [located for passage in self.passages for located in passage.dates]

    @cached_property_unlocked
    def weights(self) -> dict[str, float]:
        """Background weights, looked up once."""
        return WEIGHTS

    @cached_property_unlocked
    def joined(self) -> str:
        """All passages as one folded text, for finding names and verbatim claims."""
        return "\n".join([passage.folded for passage in self.passages])

    def places(self, wanted: frozenset[str]) -> dict[str, list[int]]:
        """Each of the `wanted` terms to the numbers of the sentences that hold it."""
        places: dict[str, list[int]] = {}
        for number, segment in enumerate(self.sentences):
            for term in wanted & segment.terms:
                places.setdefault(term, []).append(number)
        return places


def _values(quantity: Quantity) -> set[float]:
    """The value of a quantity as it is written, and in its base unit."""
    return {quantity.value, quantity.base[1] if quantity.base else quantity.value}
