"""Numbers for words, so that passages met before are compared without reading their words again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from threading import Lock, local
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rag_monitor.language.tokens import BREAK, GRAMMAR

Numbers = NDArray[np.intp]

CONTENT: Final = 0
"""What a word that was not asked for becomes."""
PLAIN: Final = 1
"""The same, of words without a meaning of their own."""
_GENERATIONS: Final = count()
_LARGEST: Final = 100_000
"""Words of one generation; then a new one begins, or memory would grow with the traffic."""


class Codes(dict[str, int]):
    """Each word to a number of its own, given when it is first met. Thread-safe."""

    def __init__(self) -> None:
        super().__init__({BREAK: 0})
        self.generation = next(_GENERATIONS)
        """Tells these numbers from those of before."""
        self.update({word: code for code, word in enumerate(sorted(GRAMMAR), 1)})
        self._turn = Lock()
        self._threads = local()

    def __missing__(self, word: str) -> int:
        with self._turn:
            return self.setdefault(word, len(self))

    def of(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of tokens, in order; 0 for a `BREAK`."""
        try:  # `get` takes half the time, and most words have a number
            return np.fromiter(map(self.get, tokens), np.int32, len(tokens))
        except TypeError:
            return np.fromiter(map(self.__getitem__, tokens), np.int32, len(tokens))

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
