"""Folding of text before matching: NFKC, case, Traditional to Simplified, invisible characters.

Folded text is for comparing only; what is shown and counted in offsets stays as it came.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Final

from rag_monitor.language.compiled import COMPILED

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

    The length may change, so offsets of folded text mean nothing in the original. The character
    NUL becomes a space, so that it can mark places in folded text.
    """
    return _fold(text.replace(_APART, " ") if _APART in text else text)


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = _fold_alone(text)
    return _fold_whole(text) if folded is None else folded


def _plain_fold_alone(text: str) -> str | None:
    """Text folded character by character; None when one of them depends on its neighbours."""
    for char in set("".join(_BEYOND_ASCII.findall(text))).difference(_SAME):
        alone = _ALONE[char]
        if alone is None:
            return None
        text = text.replace(char, alone)
    if text.isascii():
        return text.lower()
    # What is left beyond ASCII is lower case, and bytes know no other: six times faster than `str`.
    return text.encode().lower().decode()


def fold_all(texts: Sequence[str]) -> list[str]:
    """Every text folded."""
    if COMPILED:
        return [t.lower() if t.isascii() and _APART not in t else fold(t) for t in texts]
    # In one go, for each character beyond ASCII is looked for once.
    folded = _fold(_APART.join(texts)).split(_APART)
    return folded if len(folded) == len(texts) else list(map(fold, texts))


_APART: Final = "\0"
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_FOLDED_ALONE: Final = re.compile(
    "[\u00a0-\u024f\u0370-\u0482\u048a-\u052f\u1e00-\u1eff\u2000-\u206f\u20a0-\u20cf\u2100-\u27bf"
    "\u2e80-\u2fdf\u3000-\u30ff\u3220-\u325f\u3280-\u33ff\u3400-\u9fff\uf900-\ufaff\ufe00-\ufe0f"
    "\ufe30-\ufe6f\uff00-\uff9d\U0001f000-\U0001faff]"
)
"""Characters that go together with no neighbour: letters of Europe, Han, kana, signs, emoji."""
_DEPENDENT: Final = re.compile("[\u03a3\u1100-\u11ff]")
"""Final sigma and Hangul letters become something else beside others."""


class _Alone(dict[str, str | None]):
    """A character to what `fold` makes of it wherever it stands; None when that depends."""

    def __missing__(self, char: str) -> str | None:
        if _FOLDED_ALONE.match(char) is None:
            return None
        folded = _fold_whole(char)
        normal = unicodedata.normalize("NFKC", char)
        alone = (
            _DEPENDENT.search(normal) is None
            and not any(map(unicodedata.combining, normal + folded))
            and _fold_whole(folded) == folded
        )
        self[char] = folded if alone else None
        if alone and folded == char:
            _SAME.add(char)
        return self[char]


_SAME: Final[set[str]] = set()
"""Characters met so far that stay as they are."""
_ALONE: Final = _Alone()


def _fold_whole(text: str) -> str:
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return text.translate(_folding()).lower()


_fold_alone: Final[Callable[[str], str | None]] = (
    COMPILED.folding(_ALONE.__getitem__).fold if COMPILED else _plain_fold_alone
)
