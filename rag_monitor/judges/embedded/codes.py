"""Numbers for words, so that passages met before are compared without reading their words again."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain, count
from struct import Struct
from threading import Lock, local
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rag_monitor.language.remembered import Remembered
from rag_monitor.language.tokens import (
    BREAK,
    GRAMMAR,
    stretch_tokens,
    stretches,
    tokens_between_han,
)

Numbers = NDArray[np.intp]

CONTENT: Final = 0
"""What a word that was not asked for becomes."""
PLAIN: Final = 1
"""The same, of words without a meaning of their own."""
_GENERATIONS: Final = count()
_LARGEST: Final = 100_000
"""Words of one generation; then a new one begins, or memory would grow with the traffic."""
_STRETCHES: Final = 60_000
_FIRST_HAN: Final = 0x3400
_LAST_HAN: Final = 0x9FFF
_CHARACTERS: Final = 0x10000
"""Everything beyond is no Han character of ours."""
_ONE: Final = Struct("i")
_NO_WORD: Final = -1
_NOT_MET: Final = -2


class Codes(dict[str, int]):
    """Each word to a number of its own, given when it is first met. Thread-safe.

    Text is read straight into numbers, for most of the words of a passage are compared with nothing
    and never need be words.
    """

    def __init__(self) -> None:
        self._words = [BREAK, *sorted(GRAMMAR)]
        """The word of each number."""
        super().__init__(zip(self._words, count(), strict=False))
        self.generation = next(_GENERATIONS)
        """Tells these numbers from those of before."""
        self._turn = Lock()
        self._threads = local()
        self._stretches = Remembered(self._packed, largest=_STRETCHES, longest=32)
        """Text without spaces to the numbers of its words."""
        self._characters = np.full(_CHARACTERS + 1, _NO_WORD, np.int32)
        """Of each Han character its number; the last place is that of all rarer ones."""
        self._characters[_FIRST_HAN : _LAST_HAN + 1] = _NOT_MET
        self._marks: dict[frozenset[str], NDArray[np.bool_]] = {}
        """Which numbers are those of some words; what lies beyond is none of them."""

    def __missing__(self, word: str) -> int:
        with self._turn:
            if word not in self:
                self._words.append(word)
                self[word] = len(self)
            return self[word]

    def read(self, folded: str) -> NDArray[np.int32]:
        """The numbers of the words of folded text, in order; 0 for a `BREAK`."""
        spaced = stretches(folded)
        if spaced is None:
            return self._among_han(folded)
        return np.frombuffer(b"".join(map(self._stretches.__getitem__, spaced)), np.int32)

    def _packed(self, stretch: str) -> bytes:
        tokens = stretch_tokens(stretch)
        if len(tokens) == 1:
            return _ONE.pack(self[tokens[0]])
        return array("i", map(self.__getitem__, tokens)).tobytes()

    def _among_han(self, folded: str) -> NDArray[np.int32]:
        """As `read`: every character's number in its place, of other words at their beginning."""
        points = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), np.uint32)
        places = np.minimum(points, _CHARACTERS)
        found = self._characters.take(places)
        unmet = found == _NOT_MET
        if unmet.any():
            for point in set(places[unmet].tolist()):
                self._characters[point] = self[chr(point)]
            found = self._characters.take(places)
        for place, word in tokens_between_han(folded):
            found[place] = self[word]
        return found[found >= 0]

    def words(self, codes: NDArray[np.int32]) -> frozenset[str]:
        """The words of these numbers."""
        return frozenset(map(self._words.__getitem__, codes.tolist()))

    def among(self, codes: NDArray[np.int32], wanted: frozenset[str]) -> NDArray[np.bool_]:
        """Of each number whether its word is one of the `wanted`."""
        marks = self._marks.get(wanted)
        if marks is None:
            numbers = [self[word] for word in wanted]
            marks = self._marks[wanted] = np.zeros(max(numbers, default=0) + 2, bool)
            marks[numbers] = True
        return marks.take(codes, mode="clip")

    def translated(
        self, codes: NDArray[np.int32], grammar: Sequence[str], content: Sequence[str], first: int
    ) -> Numbers:
        """Codes as places among the words asked for.

        Args:
            codes: Numbers of words, without breaks.
            grammar: Words without a meaning of their own that are asked for.
            content: Other words that are asked for; each word once.
            first: The number of the first of them; the others follow.

        Returns:
            For each code its word's number, or `CONTENT` or `PLAIN` when nobody asked for it.
        """
        # A word without a code stands in no passage; 0 is nobody's place.
        asked = np.array([self.get(word, 0) for word in chain(grammar, content)], np.intp)
        table = self._table()  # after the look-ups: another thread may give codes meanwhile
        try:
            table[asked] = np.arange(first, first + len(asked))
            found: Numbers = table[codes]
        finally:
            table[asked[: len(grammar)]] = PLAIN
            table[asked[len(grammar) :]] = CONTENT
        return found

    def _table(self) -> Numbers:
        """What every code becomes when nobody asks; each thread has its own."""
        table: Numbers | None = getattr(self._threads, "table", None)
        if table is None or len(table) < len(self):
            table = np.full(max(2 * len(self), 8192), CONTENT)
            table[1 : len(GRAMMAR) + 1] = PLAIN
            self._threads.table = table
        return table


_present = Codes()


def present() -> Codes:
    """The numbers in use now; a passage coded by others is coded anew."""
    global _present
    if len(_present) > _LARGEST:
        _present = Codes()
    return _present
