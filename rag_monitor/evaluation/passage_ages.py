"""Which of two passages is newer, by their metadata or the years that they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rag_monitor.domain.document import AGE_NAMES, VERSION_NAMES
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.language.metadata_dates import moment_of
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
            pair = _compared(name, one.metadata.get(name), other.metadata.get(name))
            if pair is not None:
                return pair
        years = self._newest(first), self._newest(second)
        return years if years[0] and years[1] and years[0] != years[1] else None

    def _newest(self, place: int) -> Age:
        years = self._newest_years.get(place)
        if years is None:
            years = self._newest_years[place] = _newest(self._documents[place])
        return years


def _compared(name: str, one: object, other: object) -> tuple[Age, Age] | None:
    """Two values of metadata as ages; None: one is missing, or they are of one age."""
    if one is None or other is None:
        return None
    if name not in VERSION_NAMES:
        moments = moment_of(str(one)), moment_of(str(other))
        if moments[0] is not None and moments[1] is not None:
            first, second = (moment.timetuple()[:6] for moment in moments if moment is not None)
            return (first, second) if first != second else None
    ages = _numbers(one), _numbers(other)
    return ages if ages[0] and ages[1] and ages[0] != ages[1] else None


def _numbers(value: object) -> Age:
    return tuple(map(int, _DIGITS.findall(str(value))[:6]))


def _newest(document: RetrievedDocument) -> Age:
    """The newest year that a passage, its title or its id names; empty: none."""
    title = document.metadata.get("title")
    years = years_of(fold(f"{document.id or ''} {title or ''}\n{document.content or ''}"))
    return (max(years),) if years else ()
