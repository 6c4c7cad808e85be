"""Passages cut and indexed once: what recurs in traffic is looked up, not worked out again."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Sequence
from itertools import accumulate
from threading import Lock
from typing import Final, NamedTuple

from rag_monitor.judges.embedded.cached_property import cached_property_unlocked
from rag_monitor.judges.prompt_injection import (
    INJECTION_WORDS,
    addresses_judge,
    has_spaced_letters,
    may_address_judge,
)
from rag_monitor.language.dates import Date, find_dates
from rag_monitor.language.normalise import fold, fold_all
from rag_monitor.language.numbers import find_quantities
from rag_monitor.language.polarity import denies, may_negate
from rag_monitor.language.quantity import Quantity
from rag_monitor.language.sentences import sentence_texts
from rag_monitor.language.stems import GRAMMAR
from rag_monitor.language.tokens import term_set, tokenise
from rag_monitor.language.vocabulary import Words, present

_SEPARATOR: Final = "\0"
"""Between sentences while numbers are read: no pattern reads across it."""


class Segment:
    """A folded stretch of text with what matching needs, computed when first asked for."""

    __slots__ = ("__dict__", "folded", "text")

    def __init__(self, text: str, folded: str | None = None) -> None:
        self.text = text
        self.folded = fold(text) if folded is None else folded

    @cached_property_unlocked
    def tokens(self) -> list[str]:
        """All tokens in order."""
        return tokenise(self.folded)

    @cached_property_unlocked
    def token_set(self) -> frozenset[str]:
        """All tokens."""
        return frozenset(self.tokens)

    @cached_property_unlocked
    def content(self) -> list[str]:
        """Tokens with a meaning of their own, in order."""
        return [token for token in self.tokens if token not in GRAMMAR]

    @cached_property_unlocked
    def content_set(self) -> frozenset[str]:
        """The same, each once."""
        return self.token_set - GRAMMAR

    @cached_property_unlocked
    def terms(self) -> frozenset[str]:
        """Content tokens and Han bigrams."""
        return term_set(self.folded)

    @cached_property_unlocked
    def denies(self) -> bool:
        """Whether it denies anything."""
        return may_negate(self.folded, self.token_set) and denies(self.folded)

    @cached_property_unlocked
    def addressed(self) -> bool:
        """Whether it talks to a judge."""
        return addresses_judge(self.folded, self.token_set)

    @cached_property_unlocked
    def dates(self) -> tuple[Date, ...]:
        """Dates in order."""
        return tuple(find_dates(self.folded, self.token_set))

    @cached_property_unlocked
    def quantities(self) -> tuple[Quantity, ...]:
        """Quantities that are no part of a date, in order."""
        return tuple(
            find_quantities(
                self.folded, tuple([(d.start, d.end) for d in self.dates]), self.token_set
            )
        )


class TokenIds(NamedTuple):
    """A passage as numbers."""

    generation: int
    """Of the numbers; the vocabulary itself would be kept alive by every passage."""
    words: bytes
    """The numbers of its words, packed."""
    lengths: list[int]
    """Words of each sentence."""


class IndexedPassage:
    """One retrieved passage and its sentences; knows nothing of the request it came with.

    Sentences that talk to a judge are left out: they are no evidence of anything.
    """

    __slots__ = ("__dict__", "_coded", "folded", "sentences", "suspect")

    def __init__(self, text: str) -> None:
        texts = sentence_texts(text)
        folded = fold_all(texts)
        self.sentences = tuple(map(Segment, texts, folded))
        self.suspect = False
        self.folded = " ".join(folded)
        vocabulary = present()
        self._coded = _read(folded, vocabulary)
        injections = {
            place
            for place in self._suspects(vocabulary)
            if may_address_judge(self.sentences[place].folded) and self.sentences[place].addressed
        }
        if injections:
            self._leave_out(injections)

    def _suspects(self, vocabulary: Words) -> Sequence[int]:
        """The places of the sentences that may talk to a judge."""
        if has_spaced_letters(self.folded):
            return range(len(self.sentences))
        return vocabulary.holders(INJECTION_WORDS, self._coded.words, self._coded.lengths)

    def _leave_out(self, injections: Collection[int]) -> None:
        self.suspect = True
        self.sentences = tuple(
            p for place, p in enumerate(self.sentences) if place not in injections
        )
        folded = [segment.folded for segment in self.sentences]
        self.folded = " ".join(folded)
        self._coded = _read(folded, present())

    def coded(self, vocabulary: Words) -> TokenIds:
        """Its words as numbers."""
        coded = self._coded  # another thread may put in the numbers of another vocabulary
        if coded.generation != vocabulary.generation:
            coded = self._coded = _read([segment.folded for segment in self.sentences], vocabulary)
        return coded

    @cached_property_unlocked
    def token_set(self) -> frozenset[str]:
        """All tokens."""
        vocabulary = present()
        return vocabulary.distinct(self.coded(vocabulary).words)

    @cached_property_unlocked
    def terms(self) -> frozenset[str]:
        """Terms of all sentences."""
        return frozenset().union(*[segment.terms for segment in self.sentences])

    @cached_property_unlocked
    def dates(self) -> list[tuple[Date, Segment]]:
        """Every date with the sentence it stands in; offsets are of the passage."""
        return [(date, self._at(date.start)) for date in find_dates(self._apart, self.token_set)]

    @cached_property_unlocked
    def quantities(self) -> list[tuple[Quantity, Segment]]:
        """Every quantity that is no part of a date, once for each sentence it stands in."""
        distinct: dict[tuple[float, str, str, int, int], tuple[Quantity, Segment]] = {}
        for q in self._numbers:
            segment = self._at(q.start)
            distinct.setdefault((q.value, q.kind, q.unit, q.digits, id(segment)), (q, segment))
        return list(distinct.values())

    @cached_property_unlocked
    def _numbers(self) -> list[Quantity]:
        taken = tuple((date.start, date.end) for date, _ in self.dates)
        return find_quantities(self._apart, taken, self.token_set, idioms=True)

    @cached_property_unlocked
    def _apart(self) -> str:
        return _SEPARATOR.join([segment.folded for segment in self.sentences])

    @cached_property_unlocked
    def _starts(self) -> list[int]:
        return list(accumulate((len(p.folded) + 1 for p in self.sentences), initial=0))

    def _at(self, offset: int) -> Segment:
        place = bisect_right(self._starts, offset) - 1
        return self.sentences[min(place, len(self.sentences) - 1)]


def _read(folded: list[str], vocabulary: Words) -> TokenIds:
    """The sentences of a passage as numbers."""
    return TokenIds(vocabulary.generation, *vocabulary.sentences(folded))


class PassageCache:
    """The passages asked for last, by their text. Thread-safe.

    Args:
        most_characters: Text kept at most, in characters, a Han character counting five; the
            index of a passage takes up to forty bytes for each. 0 keeps nothing.
    """

    def __init__(self, most_characters: int) -> None:
        self._most = most_characters
        self._held = 0
        self._passages: OrderedDict[str, IndexedPassage] = OrderedDict()
        self._turn = Lock()

    def get(self, text: str) -> IndexedPassage:
        """The passage of `text`, cut when it is not held."""
        with self._turn:
            passage = self._passages.get(text)
            if passage is not None:
                self._passages.move_to_end(text)
                return passage
        passage = IndexedPassage(text)
        size = _size(text)
        if size <= self._most:
            self._keep(text, passage, size)
        return passage

    def _keep(self, text: str, passage: IndexedPassage, size: int) -> None:
        with self._turn:
            if text not in self._passages:
                self._held += size
            self._passages[text] = passage
            while self._held > self._most:
                forgotten, _ = self._passages.popitem(last=False)
                self._held -= _size(forgotten)


def _size(text: str) -> int:
    """What a passage counts: a Han character, of three bytes, five.

    Each is a word, and pairs of them are terms besides.
    """
    bytes_beyond = 0 if text.isascii() else len(text.encode(errors="surrogatepass")) - len(text)
    return len(text) + 2 * bytes_beyond
