"""What a text quotes to the letter."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.normalise import fold
from rag_monitor.language.script import has_han

_QUOTED: Final = re.compile(
    r"“([^“”\n]+)”|「([^「」\n]+)」|『([^『』\n]+)』|«([^«»\n]+)»|\"([^\"\n]+)\""
)
_LEFT_OUT: Final = re.compile(r"\.{3,}|…+|\[[^\]]*\]|[(（]\.\.\.[)）]")
_FEWEST_WORDS: Final = 4
"""Shorter ones name or stress something."""
_FEWEST_HAN: Final = 8


def quotations(text: str) -> list[tuple[str, ...]]:
    """The quotations of `text`, each as the stretches between what it leaves out."""
    if not any(mark in text for mark in '“「『«"'):
        return []
    found = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    return [stretches for quoted in found if _is_long(quoted) and (stretches := _stretches(quoted))]


def is_quoted_from(stretches: tuple[str, ...], text: str) -> bool:
    """Whether all stretches of a quotation stand in a text, whatever marks and spaces it has."""
    letters = _letters(text)
    return all(stretch in letters for stretch in stretches)


def _stretches(quoted: str) -> tuple[str, ...]:
    return tuple(letters for part in _LEFT_OUT.split(quoted) if (letters := _letters(part)))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, fold(text)))


def _is_long(quoted: str) -> bool:
    if has_han(quoted):
        return sum(map(str.isalnum, quoted)) >= _FEWEST_HAN
    return len(quoted.split()) >= _FEWEST_WORDS
