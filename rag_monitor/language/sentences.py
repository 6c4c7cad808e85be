"""Sentences of Chinese and English text, with their place in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|e\.g|i\.e|eg|ie|cf|al|inc|ltd|co|corp|no|nos|vol|"
    r"fig|figs|approx|dept|est|gen|col|lt|sgt|rev|hon|gov|sen|rep|u\.s|u\.k|u\.n|d\.c|a\.m|p\.m|"
    r"jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|mt|ft|in|oz|lb|lbs|tsp|tbsp|min|max|pp|ed|"
    r"ph\.d|m\.d|b\.a|m\.a)|(?:^|[\s(.])[A-Z])$",
    re.IGNORECASE,
)
_BOUNDARY: Final = re.compile(
    r"[。！？；]+[」』”’）】》\"')\]]*"
    r"|…{1,2}[」』”’）】]*"
    r"|[.!?;]+[\"'”’)\]]*(?=\s|$|[\u3400-\u9fff])"
    r"|\n+"
)
_LIST_MARKER: Final = re.compile(
    r"\s*(?:[-*•·●▪◦–]\s+|(?:\(?\d{1,2}[.)、）]|\(\d{1,2}\)|（\d{1,2}）|[①-⑳]|[一二三四五六七八九十]{1,3}、"
    r"|[a-hA-H][.)])(?!\d)\s*|#{1,6}\s+|>\s+)+"
)
_NUMBERED_ONLY: Final = re.compile(r"\s*(?:\(?\d{1,3}|[a-hA-H])$")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text: `text == whole[start:end]`."""

    text: str
    start: int
    end: int


def split_sentences(text: str) -> list[Span]:
    """The sentences of `text` in order, trimmed, without list markers.

    Splits on Chinese and English sentence ends and on line breaks; abbreviations, initials,
    decimals, URLs and list numbers do not end a sentence.
    """
    spans: list[Span] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if match.group()[0] == "." and _protected(text, start, match.start()):
            continue
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def _protected(text: str, start: int, stop: int) -> bool:
    """Whether the dot at `stop` belongs to an abbreviation, an initial or a list number."""
    tail = text[max(start, stop - 12) : stop]
    if _ABBREVIATION.search(tail):
        following = text[stop + 1 : stop + 3].lstrip()
        return not (tail.endswith(("etc", "a.m", "p.m", "in")) and following[:1].isupper())
    return stop - start <= 4 and _NUMBERED_ONLY.match(text[start:stop]) is not None


def _append(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    marker = _LIST_MARKER.match(piece)
    if marker:
        start += marker.end()
        piece = text[start:end]
    stripped = piece.strip()
    if not any(c.isalnum() for c in stripped):
        return
    lead = len(piece) - len(piece.lstrip())
    spans.append(Span(stripped, start + lead, start + lead + len(stripped)))
