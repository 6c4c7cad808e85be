"""How reference metrics cut text: English words, Chinese words by jieba, or characters."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

_CJK = re.compile(r"[㐀-䶿一-鿿豈-﫿\U00020000-\U0003134f]")
_PIECE = re.compile(
    r"[㐀-䶿一-鿿豈-﫿\U00020000-\U0003134f]+"
    r"|[A-Za-zÀ-ɏͰ-ӿ]+(?:['’][A-Za-z]+)?"
    r"|\d+(?:[.,]\d+)*"
    r"|[^\s]"
)

_ASCII_PIECE = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*|[$+<=>^`|~]")
"""What `_PIECE` keeps of folded ASCII text, in one step: half the time on English rows."""


class Unit(StrEnum):
    """What one token is."""

    WORD = "word"
    """Words; Chinese runs are cut by jieba."""
    CHARACTER = "character"
    """Words, but every Chinese character is a token of its own."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Cuts text into tokens: NFKC, case-folded, punctuation dropped unless kept.

    Two tokenizers that are equal cut alike, so results can name the one they used.
    """

    unit: Unit = Unit.WORD
    keep_punctuation: bool = False
    terms: tuple[str, ...] = field(default=())
    """Domain terms (年化收益率, 靶向药) that are never cut."""

    def __call__(self, text: str) -> tuple[str, ...]:
        """The tokens of `text`, in order.

        The last few texts are remembered: several metrics in a row see the same ones.
        """
        return _cut(text, self)

    def _tokens(self, text: str) -> tuple[str, ...]:
        if text.isascii() and not self.keep_punctuation:
            return tuple(_ASCII_PIECE.findall(text.lower()))
        folded = unicodedata.normalize("NFKC", text).casefold()
        tokens: list[str] = []
        for piece in _PIECE.findall(folded):
            if _CJK.match(piece):
                tokens.extend(self._cut_chinese(piece))
            elif self.keep_punctuation or piece[0].isalnum():
                tokens.append(piece)
            elif unicodedata.category(piece[0])[0] not in "PZC":
                # Emoji and symbols carry meaning; punctuation does not.
                tokens.append(piece)
        return tuple(tokens)

    def _cut_chinese(self, run: str) -> Sequence[str]:
        if self.unit is Unit.CHARACTER:
            return list(run)
        return _cut_run(run, self.terms)


@lru_cache(maxsize=64)
def _cut(text: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    return tokenizer._tokens(text)


WORDS = Tokenizer()
CHARACTERS = Tokenizer(unit=Unit.CHARACTER)


def has_chinese(text: str) -> bool:
    """Whether any Chinese character is in `text`."""
    return _CJK.search(text) is not None


def read_terms(path: Path) -> tuple[str, ...]:
    """Domain terms from a file with one term a line (jieba's dictionary format is accepted)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(line.split()[0].casefold() for line in lines if line.strip())


_build_lock = threading.Lock()


@lru_cache(maxsize=16)
def _segmenter(terms: tuple[str, ...]) -> Any:
    """A jieba tokenizer with the terms added; half a second and some 70 MB the first time."""
    import jieba

    with _build_lock:
        jieba.setLogLevel("ERROR")
        segmenter = jieba.Tokenizer()
        segmenter.initialize()
        for term in terms:
            segmenter.add_word(term.casefold())
        return segmenter


@lru_cache(maxsize=65_536)
def _cut_run(run: str, terms: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_segmenter(terms).lcut(run))
