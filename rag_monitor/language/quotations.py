"""What a text quotes to the letter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from rag_monitor.language.normalise import fold
from rag_monitor.language.script import has_han

_QUOTED: Final = re.compile(
    r"“([^“”\n]+)”|「([^「」\n]+)」|『([^『』\n]+)』|«([^«»\n]+)»|\"([^\"\n]+)\""
)
_LEFT_OUT: Final = re.compile(r"\.{3,}|…+|\[[^\]]*\]|[(（]\.\.\.[)）]")
_MARKS: Final = tuple('“「『«"')
_FEWEST_WORDS: Final = 4
"""Shorter ones name or stress something."""
_FEWEST_HAN: Final = 8


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words in quotation marks."""

    start: int
    """Where the first mark stands."""
    stretches: tuple[str, ...]
    """Letters and digits of what stands between the places where it leaves something out."""

    def stands_in(self, text: str) -> bool:
        """Whether all of it stands in a text, whatever spaces and punctuation that has."""
        letters = _letters(text)
        return all(stretch in letters for stretch in self.stretches)


def quotations(text: str) -> list[Quotation]:
    """The quotations of `text` that are long enough to be somebody's words."""
    if not any(mark in text for mark in _MARKS):
        return []
    quoted_at = ((match.start(), match[match.lastindex or 0]) for match in _QUOTED.finditer(text))
    return [Quotation(start, _stretches(quoted)) for start, quoted in quoted_at if _is_long(quoted)]


def _stretches(quoted: str) -> tuple[str, ...]:
    return tuple(letters for part in _LEFT_OUT.split(quoted) if (letters := _letters(part)))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, fold(text)))


def _is_long(quoted: str) -> bool:
    if has_han(quoted):
        return sum(map(str.isalnum, quoted)) >= _FEWEST_HAN
    return len(quoted.split()) >= _FEWEST_WORDS
