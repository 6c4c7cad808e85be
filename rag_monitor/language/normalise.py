"""Folding of text before matching: NFKC, case, Traditional to Simplified, invisible characters.

Folded text is for comparing only; what is shown and counted in offsets stays as it came.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib import resources
from typing import Final

_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe00-\ufe0f]")
_QUOTES: Final = {
    ord("’"): "'", ord("‘"): "'", ord("ʼ"): "'", ord("“"): '"', ord("”"): '"', ord("–"): "-",
    ord("—"): "-", ord("‑"): "-", ord("−"): "-", ord("「"): '"', ord("」"): '"', ord("『"): '"',
    ord("』"): '"',
}  # fmt: skip


@cache
def _traditional() -> dict[int, str]:
    """Traditional code point to Simplified character."""
    text = (resources.files(__package__) / "traditional.txt").read_text(encoding="utf-8")
    table = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            table.update({ord(pair[0]): pair[1] for pair in line.split()})
    return table


@cache
def _folding() -> dict[int, str]:
    return {**_traditional(), **_QUOTES}


def to_simplified(text: str) -> str:
    """`text` with Traditional characters replaced one by one; length is kept."""
    return text if text.isascii() else text.translate(_traditional())


def fold(text: str) -> str:
    """`text` for matching: NFKC, lower case, Simplified, plain quotes and dashes.

    The length may change, so offsets of folded text mean nothing in the original.
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return text.translate(_folding()).lower()
