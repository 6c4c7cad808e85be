"""Each word to a number of its own, read straight from folded text.

Most of the words of a passage are compared with nothing and never need be strings. What is done
here with patterns is compiled where the package was built with a C compiler (`_vocabulary.pyx`).
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, count
from operator import add
from struct import Struct
from threading import Lock
from typing import Final, Protocol

from rag_monitor.language.compiled import COMPILED
from rag_monitor.language.memo_dict import MemoDict
from rag_monitor.language.stems import GRAMMAR, REDUCED

BREAK: Final = "\0"
"""A word of its own, numbered 0, which stands where something ends."""
_NO_HAN_TEXT: Final = (
    r"[a-z][a-z]*(?:'[a-z]+)?|\d\d*(?:,\d{3})*(?:\.\d+)?|[^\W\d_\u3400-\u9fff]+|\0"
)
_WORD: Final = re.compile(rf"[\u3400-\u9fff]|{_NO_HAN_TEXT}")
"""Each way of going on but the last begins with a plain set, which the search tells apart fast."""
_RUN: Final = re.compile(rf"[\u3400-\u9fff]+|{_NO_HAN_TEXT}")
"""`_WORD`, but neighbouring Han characters in one go."""

_LARGEST: Final = 100_000
"""Words of one generation; then a new one begins, or memory would grow with the traffic."""
_LETTERS: Final = 16
"""Of a word, on average, that take the room of one word."""
_ONE: Final = Struct("i")
_GENERATIONS: Final = count()


class Words(Protocol):
    """Each word to a number of its own, given when it is first met. Thread-safe."""

    words: list[str]
    """The reduced word of each number."""
    index: dict[str, int]
    """The number of each reduced word that was met."""
    generation: int
    """Tells these numbers from those of another vocabulary."""

    @property
    def size(self) -> int:
        """How much it holds, in words."""

    def number(self, word: str) -> int:
        """The number of a reduced word, given now if it has none."""

    def numbers(self, folded: str) -> bytes:
        """The numbers of the words of folded text, in order, as packed 32-bit integers."""

    def tokens(self, folded: str) -> list[str]:
        """The reduced words of folded text, in order."""

    def terms(self, folded: str) -> frozenset[str]:
        """The words of folded text that have a meaning, and its pairs of Han characters."""

    def distinct(self, numbers: bytes) -> frozenset[str]:
        """The reduced words of packed numbers, each once."""

    def sentences(self, folded: list[str]) -> tuple[bytes, list[int]]:
        """The numbers of the words of several texts, packed, and how many each has."""

    def holders(self, wanted: frozenset[str], numbers: bytes, lengths: list[int]) -> list[int]:
        """Which of several texts, read by `sentences`, hold one of the `wanted` reduced words."""


class PlainVocabulary:
    """The same as Python.

    Args:
        reduce: A word as written to the word as matched; depends on nothing else.
        first: The words of the first numbers, `BREAK` before all others, which have no meaning.
        generation: As in `Words`.
    """

    def __init__(self, reduce: Callable[[str], str], first: Sequence[str], generation: int) -> None:
        self.words = list(first)
        self.generation = generation
        self._reduce = reduce
        self.index: dict[str, int] = MemoDict(self._give, largest=sys.maxsize)
        self.index.update(zip(self.words, count(), strict=False))
        self._characters = 0
        self._grammar = frozenset(self.words[1:])
        self._turn = Lock()
        self._wanted: dict[frozenset[str], frozenset[int]] = {}
        self._packed = MemoDict(self._pack, largest=60_000, longest=32)
        """Text without spaces to the numbers of its words."""
        self._stretches = MemoDict(self._words_of, largest=60_000, longest=32)
        """Text without spaces to its words."""

    @property
    def size(self) -> int:
        """See `Words`."""
        return max(len(self.words), self._characters // _LETTERS)

    def number(self, word: str) -> int:
        """See `Words`."""
        return self.index[word]

    def _give(self, word: str) -> int:
        with self._turn:
            number = self.index.get(word)
            if number is None:
                number = self.index[word] = len(self.words)
                self.words.append(word)
                self._characters += len(word)
            return number

    def numbers(self, folded: str) -> bytes:
        """See `Words`."""
        spaced = _stretches(folded)
        if spaced is not None:
            return b"".join(map(self._packed.__getitem__, spaced))
        return array("i", map(self.index.__getitem__, self.tokens(folded))).tobytes()

    def tokens(self, folded: str) -> list[str]:
        """See `Words`."""
        spaced = _stretches(folded)
        if spaced is not None:
            return list(chain.from_iterable(map(self._stretches.__getitem__, spaced)))
        tokens: list[str] = []
        for run in _RUN.findall(folded):
            if "\u3400" <= run[0] <= "\u9fff":
                tokens += run
            else:
                tokens.append(self._reduce(run))
        return tokens

    def terms(self, folded: str) -> frozenset[str]:
        """See `Words`."""
        return terms_among(self.tokens(folded), self._grammar)

    def distinct(self, numbers: bytes) -> frozenset[str]:
        """See `Words`."""
        return frozenset([self.words[number] for number in set(memoryview(numbers).cast("i"))])

    def sentences(self, folded: list[str]) -> tuple[bytes, list[int]]:
        """See `Words`."""
        numbered = list(map(self.numbers, folded))
        return b"".join(numbered), [len(numbers) // _ONE.size for numbers in numbered]

    def holders(self, wanted: frozenset[str], numbers: bytes, lengths: list[int]) -> list[int]:
        """See `Words`."""
        cached = self._wanted.get(wanted)
        if cached is None:
            cached = self._wanted[wanted] = frozenset(map(self.number, wanted))
        read = memoryview(numbers).cast("i")
        starts = accumulate(lengths, initial=0)
        return [
            place
            for place, (start, length) in enumerate(zip(starts, lengths, strict=False))
            if not cached.isdisjoint(read[start : start + length])
        ]

    def _words_of(self, stretch: str) -> tuple[str, ...]:
        word = stretch.strip(_AROUND)
        if word.isalpha() and word.islower() and word.isascii():
            return (self._reduce(word),)
        return tuple(map(self._reduce, _WORD.findall(stretch)))

    def _pack(self, stretch: str) -> bytes:
        return array("i", map(self.index.__getitem__, self._stretches[stretch])).tobytes()


def terms_among(words: Sequence[str], grammar: frozenset[str]) -> frozenset[str]:
    """Those of several words that are no `grammar`, and pairs of neighbouring Han characters.

    Pairs of pure grammar are left out.
    """
    terms = frozenset(words).difference(grammar)
    runs = _HAN_RUN.findall("".join(words))
    if not runs:
        return terms
    pairs = chain.from_iterable([map(add, run, run[1:]) for run in runs])
    return terms.union([pair for pair in pairs if not grammar.issuperset(pair)])


_HAN_RUN: Final = re.compile(r"[\u3400-\u9fff]{2,}")
_AROUND: Final = ".,;:!?()[]\"'"
"""What stands around most words that are more than their letters."""
_SPACED: Final = 12
"""Characters between spaces, on average, up to which words recur and are worth remembering."""


def _stretches(folded: str) -> list[str] | None:
    """Folded text cut at its spaces, which no word holds; None where Han characters run on.

    What stands between spaces recurs, and can be looked up as a whole.
    """
    stretches = folded.split()
    return stretches if len(folded) <= _SPACED * len(stretches) else None


def vocabulary() -> Words:
    """A vocabulary that has met nothing yet."""
    return Vocabulary(REDUCED.__getitem__, [BREAK, *sorted(GRAMMAR)], next(_GENERATIONS))


def present() -> Words:
    """The vocabulary in use now; what was read by another is read anew."""
    global _present
    if _present.size > _LARGEST:
        _present = vocabulary()
    return _present


Vocabulary: Final[Callable[[Callable[[str], str], Sequence[str], int], Words]] = (
    COMPILED.vocabulary if COMPILED else PlainVocabulary
)
_present: Words = vocabulary()
