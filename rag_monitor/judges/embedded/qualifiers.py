"""What narrows a question, and passages about something else: another year, another series."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.judges.embedded.segments import IndexedPassage, Segment

_ORDINALS: Final = tuple(
    frozenset(group.split())
    for group in (
        "first second third fourth fifth sixth seventh eighth ninth tenth",
        "primary secondary tertiary",
        "spring summer autumn winter",
        "monday tuesday wednesday thursday friday saturday sunday",
        "basic standard premium enterprise",
        "bronze silver gold platinum",
    )
)
_HAN_SERIES: Final = (
    re.compile(r"([首一二两三四五六七八九十]+)(套|期|季|届|类|级|代|号|年级|等奖|胎|孩|线)"),
    re.compile(r"第([一二三四五六七八九十百\d]+)(个?[季届章条款期次代批集名号])"),
)
_SAME: Final = {"首": "一", "两": "二"}


@dataclass(frozen=True, slots=True)
class Qualifier:
    """What narrows a question: a year, a place in a series, one of two opposites."""

    kind: str
    value: str
    text: str = ""
    """As the question spells it."""


def qualifiers_of(asked: Segment) -> list[Qualifier]:
    """What narrows a question: its years, and places in a series."""
    found = [Qualifier("year", str(date.year)) for date in asked.dates if date.year]
    for series in _ORDINALS:
        found.extend(Qualifier("series", t) for t in _words(asked.folded) if t in series)
    for pattern in _HAN_SERIES:
        found.extend(
            Qualifier(match[2], _SAME.get(match[1], match[1]), match[0][:2])
            for match in pattern.finditer(asked.folded)
        )
    return found


def _words(folded: str) -> list[str]:
    return re.findall(r"[a-z]+", folded)


def conflict(qualifiers: Sequence[Qualifier], passage: IndexedPassage) -> str | None:
    """The first qualifier that the passage contradicts: it names another value and never this."""
    for qualifier in qualifiers:
        if qualifier.kind == "year":
            years = {str(d.year) for segment in passage.sentences for d in segment.dates if d.year}
            if years and qualifier.value not in years:
                return "year_mismatch"
        elif qualifier.kind == "series":
            series = next(s for s in _ORDINALS if qualifier.value in s)
            words = set(_words(passage.folded))
            if qualifier.value not in words and words & (series - {qualifier.value}):
                return "series_mismatch"
        elif _other_member(qualifier, passage):
            return "series_mismatch"
    return None


def _other_member(qualifier: Qualifier, passage: IndexedPassage) -> bool:
    values = {
        _SAME.get(match[1], match[1])
        for pattern in _HAN_SERIES
        for match in pattern.finditer(passage.folded)
        if match[2] == qualifier.kind
    }
    return bool(values) and qualifier.value not in values
