"""A cheap look before a pattern is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from rag_monitor.language.compiled import COMPILED, Hinted


def holds_any(text: str, hints: Iterable[str]) -> bool:
    """Whether any of a few `hints` stands in a text; a loop, for it is asked of every sentence."""
    for hint in hints:  # noqa: SIM110 - a generator takes twice as long
        if hint in text:
            return True
    return False


class PlainHints:
    """Many hints, to be looked for in sentences.

    Raises:
        ValueError: One of them is empty, and would stand in every text.
    """

    def __init__(self, hints: Iterable[str]) -> None:
        self._hints = tuple(hints)
        if "" in self._hints:
            raise ValueError("an empty hint stands in every text")

    def found(self, text: str) -> bool:
        """Whether any of them stands in a text."""
        return holds_any(text, self._hints)


Hints: Final[Callable[[Iterable[str]], Hinted]] = COMPILED.hints if COMPILED else PlainHints
