"""Which of two passages is newer, by their metadata or the years that they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rag_monitor.domain.document import AGE_NAMES
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.language.normalise import fold
from rag_monitor.language.value_conflicts import years_of

_DIGITS: Final = re.compile(r"\d{1,19}")
"""Metadata come from outside, and a text of thousands of digits is no number to Python."""

Age = tuple[int, ...]
"""A date, a version or a moment as numbers, the most significant first."""


class PassageAges:
    """Compares the passages of one trace; each is read once."""

    def __init__(self, documents: Sequence[RetrievedDocument]) -> None:
        self._documents = documents
        self._newest_years: dict[int, Age] = {}

    def of(self, first: int, second: int) -> tuple[Age, Age] | None:
        """What orders two passages by age; None: nothing does, or they are of one age."""
        if max(first, second) >= len(self._documents):
            return None
        one, other = self._documents[first], self._documents[second]
        for name in AGE_NAMES:
            pair = _numbers(one.metadata.get(name)), _numbers(other.metadata.get(name))
            if pair[0] and pair[1] and pair[0] != pair[1]:
                return pair
        years = self._newest(first), self._newest(second)
        return years if years[0] and years[1] and years[0] != years[1] else None

    def _newest(self, place: int) -> Age:
        years = self._newest_years.get(place)
        if years is None:
            years = self._newest_years[place] = _newest(self._documents[place])
        return years


def _numbers(value: object) -> Age:
    return tuple(map(int, _DIGITS.findall(str(value))[:6])) if value is not None else ()


def _newest(document: RetrievedDocument) -> Age:
    """The newest year that a passage, its title or its id names; empty: none."""
    title = document.metadata.get("title")
    years = years_of(fold(f"{document.id or ''} {title or ''}\n{document.content or ''}"))
    return (max(years),) if years else ()
