"""Where in a text a pattern may begin: matched only there, it need not be searched for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rag_monitor.language.compiled import COMPILED

_DIGITS: Final = re.compile(r"\d+")


def _plain_holds_digit(text: str) -> bool:
    if text.isascii():
        return _DIGITS.search(text) is not None
    return any(map(str.isdigit, text))


def _plain_digit_runs(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _DIGITS.finditer(text)]


holds_digit: Final[Callable[[str], bool]] = COMPILED.holds_digit if COMPILED else _plain_holds_digit
"""Whether a character of a text `isdigit`: digits of any script, and signs such as ❶."""
digit_runs: Final[Callable[[str], list[tuple[int, int]]]] = (
    COMPILED.digit_runs if COMPILED else _plain_digit_runs
)
"""Where each run of decimal digits begins and ends: `\\d+`."""


def matches_at(
    pattern: re.Pattern[str], text: str, places: Iterable[int]
) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` finds, where a match can only begin at one of `places`.

    Args:
        pattern: Never matches nothing.
        text: The text.
        places: In order.
    """
    done = 0
    for place in places:
        match = pattern.match(text, place) if place >= done else None
        if match is not None:
            done = match.end()
            yield match


def places_before(words: Iterable[str], reach: int, text: str) -> list[int]:
    """Every place from `reach` characters before any of several words to its own, in order."""
    places: set[int] = set()
    for place in places_of(words, text):
        places.update(range(max(0, place - reach), place + 1))
    return sorted(places)


def places_of(words: Iterable[str], text: str) -> list[int]:
    """Where any of several words stands in a text, in order; a place may be there twice."""
    places: list[int] = []
    for word in words:
        place = text.find(word)
        while place >= 0:
            places.append(place)
            place = text.find(word, place + 1)
    return sorted(places)
