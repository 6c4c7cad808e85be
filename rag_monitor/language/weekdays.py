"""Days of the week in Chinese and English text, ranges and working days included."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.language.hints import Hints

_ENGLISH: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HAN: Final = "一二三四五六日"
_WHOLE: Final = (
    r"\b(?:(mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?days?\b)"
    r"|(?:周|星期|礼拜)([一二三四五六日天])"
)
_SHORT: Final = r"\b(mon|tue|wed|thu|fri|sat|sun)(?:(?:s|nes|rs|ur)?days?|s|rs)?\b\.?"
_TO: Final = r"\s*(?:to|through|thru|until|till|至|到|-|~)\s*"
_ONE: Final = re.compile(_WHOLE)
_RANGE: Final = re.compile(
    rf"{_SHORT}{_TO}{_SHORT}|(?:周|星期|礼拜)([一二三四五六日天]){_TO}(?:周|星期|礼拜)?([一二三四五六日天])"
)
"""In a range short names are days, too; alone "sun" and "sat" are other words."""
_SETS: Final = (
    (re.compile(r"\bweekdays?\b|\bworking days\b|工作日"), frozenset(range(5))),
    (re.compile(r"\bweekends?\b|周末"), frozenset((5, 6))),
    (re.compile(r"\bdaily\b|\bevery ?day\b|每[天日]|天天|全年无休|24/7"), frozenset(range(7))),
)
_HINTS: Final = Hints((
    "day", "week", "daily", "24/7", "周", "星期", "礼拜", "工作日", "每天", "每日",
    "天天", "全年无休",
))  # fmt: skip
_SHORT_HINTS: Final = Hints(_ENGLISH)
_SHORT_NAME: Final = re.compile(_SHORT)


def named_weekdays(folded: str) -> frozenset[int]:
    """Days that folded text names, 0 for Monday; a range or a set counts as all of its days.

    "Monday to Friday" and 周一至周五 are five days, 工作日 too.
    """
    if not _HINTS.found(folded) and not (_SHORT_HINTS.found(folded) and _SHORT_NAME.search(folded)):
        return frozenset()
    found = {_number(name) for names in _ONE.findall(folded) for name in names if name}
    for match in _RANGE.finditer(folded):
        first, last = (_number(name) for name in match.groups() if name)
        found.update((first + step) % 7 for step in range((last - first) % 7 + 1))
    for pattern, days in _SETS:
        if pattern.search(folded) is not None:
            found |= days
    return frozenset(found)


def _number(name: str) -> int:
    return _ENGLISH.index(name) if name in _ENGLISH else _HAN.index(name.replace("天", "日"))
