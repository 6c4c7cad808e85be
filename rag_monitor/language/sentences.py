"""Sentences of Chinese and English text, with their place in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from rag_monitor.language.compiled import COMPILED
from rag_monitor.language.memo_dict import MemoDict

_ABBREVIATED_TEXT: Final = """
mr mrs ms dr prof st sr jr vs etc e.g i.e eg ie cf al inc ltd co corp no nos vol fig figs approx
dept est gen col lt sgt rev hon gov sen rep u.s u.k u.n d.c a.m p.m jan feb mar apr jun jul aug
sep sept oct nov dec mt ft in oz lb lbs tsp tbsp min max pp ed ph.d m.d b.a m.a
"""
_ABBREVIATED: Final = _ABBREVIATED_TEXT.split()
_ABBREVIATION: Final = re.compile(
    rf"(?:\b(?:{'|'.join(map(re.escape, _ABBREVIATED))})|(?:^|[\s(.])[A-Z])$", re.IGNORECASE
)
_ABBREVIATED_ENDS: Final = tuple({word[-2:] for word in _ABBREVIATED})
"""Whatever ends otherwise is no abbreviation and need not be looked at closely."""
_TAIL: Final = 12
"""Characters before a dot that tell whether it ends a sentence."""
_CLOSING: Final = r"[\"'”’)\]]*"
_LATIN_END: Final = rf"(?<=[.!?;])(?<![.!?;]{{2}})[.!?;]*+{_CLOSING}(?=\s|$|[\u3400-\u9fff])"
"""From the first of several marks: where that ends nothing, none of the others does."""
_BOUNDARY: Final = re.compile(
    r"[。！？；…\n.!?;]"
    r"(?:(?<=\n)\n*"
    rf"|{_LATIN_END}"
    r"|(?<=[。！？；])[。！？；]*[」』”’）】》\"')\]]*"
    r"|(?<=…)…?[」』”’）】]*)"
)
"""One leading set, so that the search skips what cannot end a sentence."""
_LATIN_BOUNDARY: Final = re.compile(rf"[\n.!?;](?:(?<=\n)\n*|{_LATIN_END})")
"""The same for text without `_HAN_ENDS`, in half the time."""
_HAN_ENDS: Final = tuple("。！？；…")
_LIST_MARKER: Final = re.compile(
    r"\s*(?:[-*•·●▪◦–]\s+|(?:\(?\d{1,2}[.)、）]|\(\d{1,2}\)|（\d{1,2}）|[①-⑳]|[一二三四五六七八九十]{1,3}、"
    r"|[a-hA-H][.)])(?!\d)\s*|#{1,6}\s+|>\s+)+"
)
_MARKS: Final = frozenset("-*•·●▪◦–((（#>①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳一二三四五六七八九十0123456789")
_LETTERED: Final = frozenset("abcdefghABCDEFGH")
_ALPHANUMERIC: Final = re.compile(r"[^\W_]")
_NUMBERED_ONLY: Final = re.compile(r"\s*(?:\(?\d{1,3}|[a-hA-H])$")


class Span(NamedTuple):
    """A piece of a text: `text == whole[start:end]`."""

    text: str
    start: int
    end: int


def split_sentences(text: str) -> list[Span]:
    """The sentences of `text` in order, trimmed, without list markers.

    Splits on Chinese and English sentence ends and on line breaks; abbreviations, initials,
    decimals, URLs and list numbers do not end a sentence.
    """
    return [Span(piece, start, start + len(piece)) for piece, start in _pieces(text)]


def sentence_texts(text: str) -> list[str]:
    """As `split_sentences`, without the places."""
    return [piece for piece, _ in _pieces(text)]


def _plain_pieces(text: str) -> list[tuple[str, int]]:
    """Every sentence and where it begins."""
    pieces: list[tuple[str, int]] = []
    start = 0
    boundary = _BOUNDARY if any(end in text for end in _HAN_ENDS) else _LATIN_BOUNDARY
    for match in boundary.finditer(text):
        stop, end = match.span()
        if text[stop] == "." and _is_protected(text, start, stop):
            continue
        _append(pieces, text, start, end)
        start = end
    _append(pieces, text, start, len(text))
    return pieces


def _is_protected(text: str, start: int, stop: int) -> bool:
    """Whether the dot at `stop`, of a sentence from `start`, ends none."""
    return _protected(text, start, stop) if stop - start <= _TAIL else _short(text, stop)


def _short(text: str, stop: int) -> bool:
    """Whether the dot at `stop` belongs to an abbreviation or an initial; faster in long text."""
    tail = text[stop - _TAIL : stop]
    words = tail.split()
    if tail[-1].isspace() or not _ENDS_SHORT[words[-1]]:
        return False
    return _protected(text, stop - _TAIL, stop)


def _ends_short(word: str) -> bool:
    return _ABBREVIATION.search(word) is not None


_ENDS_SHORT: Final = MemoDict(_ends_short, largest=16_384)
"""Whether a word ends in an abbreviation or an initial."""


def _protected(text: str, start: int, stop: int) -> bool:
    """Whether the dot at `stop` belongs to an abbreviation, an initial or a list number."""
    tail = text[max(start, stop - _TAIL) : stop]
    if _may_be_short(tail) and _ABBREVIATION.search(tail):
        following = text[stop + 1 : stop + 3].lstrip()
        return not (tail.endswith(("etc", "a.m", "p.m", "in")) and following[:1].isupper())
    return stop - start <= 4 and _NUMBERED_ONLY.match(text[start:stop]) is not None


def _may_be_short(tail: str) -> bool:
    """Whether `tail` may end in an abbreviation or an initial."""
    if len(tail) < 2 or not tail[-2].isalnum():
        return True
    long_word = len(tail) >= 7 and tail[-7:].isalpha()
    return not long_word and tail.lower().endswith(_ABBREVIATED_ENDS)


def _append(pieces: list[tuple[str, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.lstrip()
    first = stripped[:1]
    if first in _MARKS or (first in _LETTERED and stripped[1:2] in {".", ")"}):
        start += _marker(piece)
        piece = text[start:end]
        stripped = piece.lstrip()
    start += len(piece) - len(stripped)
    stripped = stripped.rstrip()
    if stripped[:1].isalnum() or _ALPHANUMERIC.search(stripped) is not None:
        pieces.append((stripped, start))


def _marker(piece: str) -> int:
    """How long the list marker is that a text begins with."""
    marker = _LIST_MARKER.match(piece)
    return marker.end() if marker else 0


_pieces: Final[Callable[[str], list[tuple[str, int]]]] = (
    partial(
        COMPILED.pieces,
        protected=_is_protected,
        marker=_marker,
        marks=_MARKS,
        abbreviated=_ENDS_SHORT,
    )
    if COMPILED
    else _plain_pieces
)
