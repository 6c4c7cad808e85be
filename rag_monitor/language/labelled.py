"""Numbers that tell things apart and count nothing: X200, v2, 2.10.3, 第38条, Q3, the 5th."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rag_monitor.language.han_numerals import han_value
from rag_monitor.language.hints import holds_any
from rag_monitor.language.places import digit_runs, holds_digit, matches_at, places_of
from rag_monitor.language.stems import STOP_WORDS, stem


class Label(NamedTuple):
    """One of a series: `("x", "200")`, `("quarter", "3")`."""

    series: str
    number: str


VERSION: Final = "version"
"""Series of numbers with two dots or more."""
_QUARTER: Final = "quarter"
_QUARTER_STEM: Final = stem(_QUARTER)
_ORDINAL_TEXT: Final = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
"""
_ORDINAL_WORDS: Final = {
    word: str(value) for value, word in enumerate(_ORDINAL_TEXT.split(), start=1)
}
_CODE: Final = re.compile(r"(?<![a-z0-9._-])([a-z]{1,12})-?(\d{1,6})(?![a-z0-9]|\.\d|-\d)")
_VERSION: Final = re.compile(r"(?<![\d.])v?(\d{1,3}(?:\.\d{1,4}){2,3})(?![\d]|\.\d)")
_QUARTERS: Final = re.compile(r"第?([一二三四1-4])季度")
_HAN_ORDINAL: Final = re.compile(
    r"第([零一二三四五六七八九十百\d]{1,6})(条|款|章|编|届|期|版|号|楼|层|页|代|课|轮)"
)
_ORDINAL: Final = re.compile(
    rf"\b(?:(\d{{1,3}})(?:st|nd|rd|th)|({'|'.join(_ORDINAL_WORDS)}))[\s-]"
    r"(?:(?:day )?of (?:the|each|every|a|any) )?([a-z]{3,})\b"
)
_ORDINAL_DIGIT: Final = re.compile(r"\d(?:st|nd|rd|th)\b")
_DIGIT_IN_NAME: Final = re.compile(r"\d(?:(?<=[a-z]\d)|(?<=[a-z]-\d)|\.\d+\.\d)")
"""Part of every `_CODE` and `_VERSION`, and quick to look for."""


def labels(folded: str) -> frozenset[Label]:
    """Models, versions, articles and quarters that folded text names."""
    found = set()
    if holds_digit(folded) and _DIGIT_IN_NAME.search(folded) is not None:
        for series, number in _CODE.findall(folded):
            found.add(Label(_QUARTER if series == "q" else series, number.lstrip("0") or "0"))
        found.update(Label(VERSION, number) for number in _VERSION.findall(folded))
    if "季" in folded:
        found.update(Label(_QUARTER, _plain(number)) for number in _QUARTERS.findall(folded))
    if "第" in folded:
        found.update(Label(kind, _plain(number)) for number, kind in _HAN_ORDINAL.findall(folded))
    if _QUARTER in folded:
        told = (label for label in ordinals(folded) if label.series == _QUARTER_STEM)
        found.update(Label(_QUARTER, label.number) for label in told)
    return frozenset(found)


def ordinals(folded: str) -> frozenset[Label]:
    """English ordinals with what they order: the fifth of the month, the second Sunday."""
    counted = holds_digit(folded) and _ORDINAL_DIGIT.search(folded) is not None
    if not (counted or holds_any(folded, _ORDINAL_WORDS)):
        return frozenset()
    places = [*places_of(_ORDINAL_WORDS, folded), *(start for start, _ in digit_runs(folded))]
    found = (match.groups() for match in matches_at(_ORDINAL, folded, sorted(places)))
    return frozenset(
        Label(stem(thing), digits or _ORDINAL_WORDS[word])
        for digits, word, thing in found
        if thing not in STOP_WORDS
    )


def _plain(numeral: str) -> str:
    if numeral.isdigit():
        return numeral.lstrip("0") or "0"
    value = han_value(numeral)
    return numeral if value is None else str(int(value))
