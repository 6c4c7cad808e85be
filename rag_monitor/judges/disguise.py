"""What a disguised text says: the readings a model may find in it and a pattern would miss."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_MAX_DECODED: Final = 20
"""Encoded runs looked into per text."""
_TAG_LETTER: Final = re.compile("[\U000e0020-\U000e007e]+")
_REVERSED: Final = re.compile("\u202e([^\u202c\n]*)")
_SPACED: Final = re.compile(r"(?<!\S)\S(?:\s{1,3}\S(?!\S)){3,}")
_FEWEST_SPACED: Final = 4
"""Letters that stand alone, in what `_SPACED` matches."""
_SHORTEST_CODE: Final = 16
"""Characters without a blank, in what `_BASE64` and `_HEX` match."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_HEX: Final = re.compile(r"\b(?:[0-9a-fA-F]{2}){8,}\b")
_MARKUP: Final = re.compile(r"<!--|-->|/\*|\*/|</?[a-zA-Z][^<>]{0,200}>")
_MARKS: Final = ("<", "-->", "/*", "*/")
"""`_MARKUP` matches nothing without one of them."""
_PLAIN_WORD: Final = re.compile(r"\b(?:the|and|is|of|to|in|for|with)\b", re.IGNORECASE)
"""Text with such a word is no cipher."""
_LETTER_RUN: Final = re.compile(r"[A-Za-z]{3,}")


def readings(text: str) -> Iterator[str]:
    """The text itself, then what it says when hidden, reversed, spaced or encoded parts are read.

    Bounded: a few passes over the text, at most `_MAX_DECODED` runs decoded of each kind.
    """
    yield text
    if not text.isascii():
        for hidden in _TAG_LETTER.findall(text):
            yield "".join(chr(ord(letter) - 0xE0000) for letter in hidden)
        for turned in _REVERSED.findall(text):
            yield turned[::-1]
    if any(mark in text for mark in _MARKS) and _MARKUP.search(text):
        yield _MARKUP.sub("\n", text)
    lengths = [len(word) for word in text.split()]
    if lengths.count(1) >= _FEWEST_SPACED:
        for spaced in _SPACED.findall(text)[:_MAX_DECODED]:
            words = re.split(r"\s{2,}", unicodedata.normalize("NFKC", spaced))
            yield " ".join(re.sub(r"\s", "", word) for word in words)
    if max(lengths, default=0) >= _SHORTEST_CODE:
        yield from _decoded(text)
    if _LETTER_RUN.search(text) and not _PLAIN_WORD.search(text):
        yield codecs.encode(text, "rot13")


def _decoded(text: str) -> Iterator[str]:
    for run in _BASE64.findall(text)[:_MAX_DECODED]:
        try:
            yield base64.b64decode(run + "=" * (-len(run) % 4), validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            continue
    for run in _HEX.findall(text)[:_MAX_DECODED]:
        try:
            yield bytes.fromhex(run).decode("utf-8")
        except ValueError:
            continue
