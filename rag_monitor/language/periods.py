"""Months named alone, and how often something is: per week, monthly, 每月."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.hints import Hints

_NAMES: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH: Final = re.compile(
    r"\b(?:(january|february|april|june|july|august|september|october|november|december)"
    r"|(?:in|of|by|until|till|from|since|early|mid|late|every|each)[\s-](march|may))\b"
    r"|(?<![\d个])(1[0-2]|[1-9])月(?!\s?\d)"
)
"""March and may are other words, too."""
_RATE: Final = re.compile(
    r"\b(?:per|a|an|each|every)\s(hour|day|night|week|month|quarter|year)\b"
    r"|\b(hour|dai|week|month|quarter|annual|year)ly\b"
    r"|每(?:个|一)?(小时|天|日|晚|周|星期|月|季度|年)"
)
_SAME: Final = {
    "dai": "day", "annual": "year", "小时": "hour", "天": "day", "日": "day", "晚": "night",
    "周": "week", "星期": "week", "月": "month", "季度": "quarter", "年": "year",
}  # fmt: skip
_RATE_HINTS: Final = Hints(("per ", "a ", "an ", "each", "every", "ly", "每"))
_MONTH_HINTS: Final = Hints(("月", *_NAMES))


def named_months(folded: str) -> frozenset[int]:
    """Months that folded text names, whatever the day: 1 for January."""
    if not _MONTH_HINTS.found(folded):
        return frozenset()
    found = [name for names in _MONTH.findall(folded) for name in names if name]
    return frozenset(int(name) if name.isdigit() else _NAMES.index(name) + 1 for name in found)


def rates(folded: str) -> frozenset[str]:
    """The spans of time of which folded text says something for each one: day, month, year."""
    if not _RATE_HINTS.found(folded):
        return frozenset()
    found = [name for names in _RATE.findall(folded) for name in names if name]
    return frozenset(_SAME.get(name, name) for name in found)
