"""Sentences of two passages that state different values for the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rag_monitor.language.dates import Date, find_dates
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
_BARE: Final = (0, 1)
"""Numbers that without a unit are mostly words, as in "one of them" or "no longer"."""
_KEPT_CHARS: Final = 8_000
"""Longest passage whose sentences are kept."""


class ValueConflict(NamedTuple):
    """Two passages that differ in one value."""

    used: int
    """0-based: the passage with the value that the answer states."""
    other: int
    used_text: str
    """Its sentence."""
    other_text: str


class _Sentence(NamedTuple):
    text: str
    folded: str
    quantities: tuple[Quantity, ...]
    years: frozenset[int]


class _Stated(NamedTuple):
    passage: int
    text: str
    folded: str
    quantities: tuple[Quantity, ...]
    years: frozenset[int]


def value_conflicts(question: str, answer: str, passages: Sequence[str]) -> list[ValueConflict]:
    """Where the answer takes a value from one passage and another one states a different value.

    Sentences are about the same thing when they say the same in the same words. Where question or
    answer names a year, a sentence about another year is about something else. Only values that
    the answer states are looked at, and only where it does not state the other one, too: values
    that both sentences state are no conflict, and hide none. Of each two passages the first
    conflict counts.
    """
    folded = fold(answer)
    dates, stated_values = _values(folded)
    if not stated_values or len(passages) < 2:
        return []
    named = _years(dates) | years_of(fold(question))
    stated = list(_stated(passages))
    taken = [(one, used) for one in stated if (used := _among(one.quantities, stated_values))]
    others = [
        (other, left) for other in stated if (left := _beside(other.quantities, stated_values))
    ]
    if not taken or not others:
        return []
    terms = {one.folded: _subject(one) for one in stated}
    conflicts: dict[tuple[int, int], ValueConflict] = {}
    for one, used in taken:
        for other, left in others:
            pair = (one.passage, other.passage)
            if (
                one.passage != other.passage
                and pair not in conflicts
                and not (one.years & named and one.years.isdisjoint(other.years))
                and _alike(terms[one.folded], terms[other.folded])
                and any(q.unit == u.unit for u in _beside(used, other.quantities) for q in left)
            ):
                conflicts[pair] = ValueConflict(*pair, one.text, other.text)
    return list(conflicts.values())


def values_in(passage: str) -> tuple[Quantity, ...]:
    """The values that a passage gives. A long one is read anew by each call."""
    return tuple(q for sentence in _sentences(passage) for q in sentence.quantities)


def states_another_value(statement: str, given: Sequence[Quantity], question: str) -> bool:
    """Whether a statement gives a value that neither passage nor question does.

    It counts where the passage gives another one of the same sort that the statement lacks: a
    value of some other passage has taken its place.
    """
    own = [q for q in _values(fold(statement))[1] if q.unit or q.value not in _BARE]
    if not own:
        return False
    replaced = {(q.kind, q.unit) for q in _beside(given, own)}
    added = _beside(own, [*given, *_values(fold(question))[1]]) if replaced else ()
    return any((q.kind, q.unit) in replaced for q in added)


def _stated(passages: Sequence[str]) -> Iterator[_Stated]:
    left = _MOST
    for place, passage in enumerate(passages):
        for sentence in _sentences(passage):
            if not left:
                return
            left -= 1
            yield _Stated(place, *sentence)


def _with_values(passage: str) -> tuple[_Sentence, ...]:
    """Its sentences that state a value."""
    sentences = []
    for text in sentence_texts(passage):
        folded = fold(text)
        dates, quantities = _values(folded)
        if quantities:
            sentences.append(_Sentence(text, folded, quantities, _years(dates)))
            if len(sentences) == _MOST:
                break
    return tuple(sentences)


_recurring = lru_cache(maxsize=512)(_with_values)
"""The same of passages that are retrieved again and again."""


def _sentences(passage: str) -> tuple[_Sentence, ...]:
    return (_recurring if len(passage) <= _KEPT_CHARS else _with_values)(passage)


def years_of(folded: str) -> frozenset[int]:
    """The years that folded text names."""
    return _years(find_dates(folded))


def _years(dates: Iterable[Date]) -> frozenset[int]:
    return frozenset(date.year for date in dates if date.year)


def _values(folded: str) -> tuple[Sequence[Date], tuple[Quantity, ...]]:
    """The dates and quantities of folded text; of plain English without digits none."""
    if folded.isascii() and not holds_digit(folded):
        return (), ()
    dates = find_dates(folded)
    return dates, tuple(find_quantities(folded, tuple((d.start, d.end) for d in dates)))


def _subject(sentence: _Stated) -> frozenset[str]:
    """Its words without its values, which Chinese writes in words."""
    text = sentence.folded
    for quantity in sentence.quantities:
        blank = " " * (quantity.end - quantity.start)
        text = text[: quantity.start] + blank + text[quantity.end :]
    return worded_terms(text)


def _among(quantities: Sequence[Quantity], others: Sequence[Quantity]) -> list[Quantity]:
    return [q for q in quantities if any(q.equals(other) for other in others)]


def _beside(quantities: Sequence[Quantity], others: Sequence[Quantity]) -> list[Quantity]:
    return [q for q in quantities if not any(q.equals(other) for other in others)]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared, fewest = len(one & other), min(len(one), len(other))
    whole = len(one) + len(other) - shared
    return fewest >= _FEWEST and shared >= _ALIKE * fewest and shared >= _LENGTHS * whole
