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

from rag_monitor.errors import ConfigurationError

_CJK = re.compile(r"[㐀-䶿一-鿿豈-﫿\U00020000-\U0003134f]")
_PIECE = re.compile(
    r"[㐀-䶿一-鿿豈-﫿\U00020000-\U0003134f]+"
    r"|[A-Za-zÀ-ɏͰ-ӿ]+(?:['’][A-Za-z]+)?"
    r"|\d+(?:[.,]\d+)*"
    r"|[^\s]"
)

_DICTIONARY_LINE = re.compile(r"(.+?)(?:\s+\d+(?:\s+[a-z]+)?)?")
"""A term; in jieba's dictionaries its frequency and its part of speech follow."""
_WEIGHTED_LINE = re.compile(r"(.*[^\s,])[\s,]+(\d+(?:\.\d+)?)")

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
        pieces = _pieces(self.terms) if self.unit is Unit.WORD else _PIECE
        if text.isascii() and not self.keep_punctuation and pieces is _PIECE:
            return tuple(_ASCII_PIECE.findall(text.lower()))
        tokens: list[str] = []
        for match in pieces.finditer(fold(text)):
            piece = match[0]
            if match.lastgroup:
                tokens.append(" ".join(piece.split()))
            elif _CJK.match(piece):
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


def fold(text: str) -> str:
    """Text as tokens have it: NFKC, case aside."""
    return unicodedata.normalize("NFKC", text).casefold()


def read_terms(path: Path) -> tuple[str, ...]:
    """Domain terms from a file with one term a line (jieba's dictionary format is accepted)."""
    lines = filter(None, map(str.strip, path.read_text(encoding="utf-8-sig").splitlines()))
    matches = (_DICTIONARY_LINE.fullmatch(line) for line in lines)
    return tuple(fold(line[1]) for line in matches if line)


def read_weights(path: Path) -> dict[str, float]:
    """Key terms and their weights from a file with one of each a line: `营收 3`.

    Raises:
        ConfigurationError: A line is not a term and a weight above 0.
    """
    weights = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if not line.strip():
            continue
        match = _WEIGHTED_LINE.fullmatch(line.strip())
        if not match or not float(match[2]):
            raise ConfigurationError(
                "{path}, line {number}: write a term and its weight above 0, e.g. 营收 3",
                path=path.name,
                number=number,
            )
        weights[fold(match[1])] = float(match[2])
    return weights


@lru_cache(maxsize=16)
def _pieces(terms: tuple[str, ...]) -> re.Pattern[str]:
    """`_PIECE`, before it the terms that jieba never sees whole: of several words or scripts."""
    mixed = {term for term in map(fold, terms) if not all(map(_CJK.match, term))}
    if not mixed:
        return _PIECE
    written = "|".join(map(_written, sorted(mixed, key=len, reverse=True)))
    return re.compile(f"(?P<term>{written})|{_PIECE.pattern}")


def _written(term: str) -> str:
    """A term between ends of words, its words parted by any space."""
    inside = r"\s+".join(map(re.escape, term.split()))
    before = r"(?<![a-z0-9])" if term[0].isascii() and term[0].isalnum() else ""
    after = r"(?![a-z0-9])" if term[-1].isascii() and term[-1].isalnum() else ""
    return f"{before}{inside}{after}"


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
            segmenter.add_word(fold(term))
        return segmenter


@lru_cache(maxsize=65_536)
def _cut_run(run: str, terms: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_segmenter(terms).lcut(run))
