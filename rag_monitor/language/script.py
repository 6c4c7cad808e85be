"""Which language a text is written in, by its letters."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

_HAN: Final = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_LATIN: Final = re.compile(r"[A-Za-z]+")


class Script(StrEnum):
    """The writing of a text, as far as splitting and matching care."""

    CHINESE = "zh"
    ENGLISH = "en"
    MIXED = "mixed"


def detect_script(text: str) -> Script:
    """The dominant writing of `text`.

    Han characters are compared with Latin words, because one of each carries about the same
    meaning. `MIXED` needs at least a fifth of both; a text without either counts as English.
    """
    han = count_han(text)
    if not han:
        return Script.ENGLISH
    latin = len(_LATIN.findall(text))
    share = han / (han + latin)
    if share >= 0.8:
        return Script.CHINESE
    return Script.ENGLISH if share <= 0.2 else Script.MIXED


def count_han(text: str) -> int:
    """How many Han characters `text` holds."""
    return 0 if text.isascii() else sum(map(len, _HAN.findall(text)))


def length(text: str, *, han: int) -> int:
    """Characters of `text`, a Han character counting as `han`."""
    return len(text) + (han - 1) * count_han(text)


def has_han(text: str) -> bool:
    """Whether any Han character occurs in `text`."""
    return not text.isascii() and _HAN.search(text) is not None
