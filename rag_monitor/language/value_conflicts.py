"""Sentences of two passages that state different values for the same thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rag_monitor.language.dates import find_dates
from rag_monitor.language.match_positions import holds_digit
from rag_monitor.language.normalise import fold
from rag_monitor.language.numbers import find_quantities
from rag_monitor.language.quantity import Quantity
from rag_monitor.language.sentences import sentence_texts
from rag_monitor.language.tokens import worded_terms

_ALIKE: Final = 0.9
"""Share of the words of the shorter sentence that the other one must hold."""
_LENGTHS: Final = 0.5
"""Shared words / all words of both, at least: a long sentence holds many things."""
_FEWEST: Final = 3
"""Words from which on a sentence says what its value is about."""
_MOST: Final = 400
"""Sentences with a value that are read of all passages together."""


class ValueConflict(NamedTuple):
    """Two passages that differ in one value."""

    used: int
    """0-based: the passage with the value that the answer states."""
    other: int
    used_text: str
    """Its sentence."""
    other_text: str


class _Stated(NamedTuple):
    passage: int
    text: str
    terms: frozenset[str]
    quantities: tuple[Quantity, ...]
    years: frozenset[int]


def value_conflicts(question: str, answer: str, passages: Sequence[str]) -> list[ValueConflict]:
    """Where the answer takes a value from one passage and another one states a different value.

    Sentences are about the same thing when they say the same in the same words. Where question or
    answer names a year, a sentence about another year is about something else. Only values that
    the answer states are looked at, and only where it does not state the other one, too.
    """
    folded = fold(answer)
    told = _quantities(folded)
    if not told:
        return []
    named = years_of(folded) | years_of(fold(question))
    stated = list(_stated(passages))
    found = []
    for one in stated:
        used = [q for q in one.quantities if _equals_any(q, told)]
        if not used:
            continue
        for other in stated:
            if other.passage != one.passage and _about_the_same(one, other, named):
                differ = not any(_equals_any(q, other.quantities) for q in used)
                both = any(_equals_any(q, told) for q in other.quantities)
                comparable = any(q.unit == u.unit for q in other.quantities for u in used)
                if differ and comparable and not both:
                    found.append(ValueConflict(one.passage, other.passage, one.text, other.text))
    return found


def _stated(passages: Sequence[str]) -> Iterator[_Stated]:
    left = _MOST
    for place, passage in enumerate(passages):
        for text in sentence_texts(passage):
            folded = fold(text)
            quantities = _quantities(folded) if left else ()
            if quantities:
                left -= 1
                yield _Stated(place, text, worded_terms(folded), quantities, years_of(folded))


def years_of(folded: str) -> frozenset[int]:
    """The years that folded text names."""
    return frozenset(date.year for date in find_dates(folded) if date.year)


def _quantities(folded: str) -> tuple[Quantity, ...]:
    if folded.isascii() and not holds_digit(folded):
        return ()
    skip = tuple((date.start, date.end) for date in find_dates(folded))
    return tuple(find_quantities(folded, skip))


def _equals_any(quantity: Quantity, others: Sequence[Quantity]) -> bool:
    return any(quantity.equals(other) for other in others)


def _about_the_same(one: _Stated, other: _Stated, named: frozenset[int]) -> bool:
    if one.years & named and one.years.isdisjoint(other.years):
        return False
    shared, fewest = len(one.terms & other.terms), min(len(one.terms), len(other.terms))
    whole = len(one.terms | other.terms)
    return fewest >= _FEWEST and shared >= _ALIKE * fewest and shared >= _LENGTHS * whole
