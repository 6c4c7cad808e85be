"""Times of day in Chinese and English text: 17:00, 下午5点, 五点半, 5 p.m."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from rag_monitor.language.han_numerals import han_value
from rag_monitor.language.match_positions import digit_runs, matches_at, places_before

HALF_DAY: Final = 12 * 60
"""Minutes after which a time without its half of the day is the same again."""
_NUMERAL: Final = r"\d{1,2}|[一二三四五六七八九十两]{1,3}"
_HALF: Final = r"凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|夜间|晚"
_MERIDIEM: Final = r"[ap]\.?\s?m\b\.?"
_DIGITAL: Final = re.compile(
    rf"(?<![\d:.])(?P<half>(?:{_HALF})\s?)?(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?![\d:])"
    rf"(?P<after>\s?{_MERIDIEM})?"
)
_SIGNS: Final = ("点", "时")
_HAN_REACH: Final = len("下午 二十三")
"""Of what stands before the sign."""
_HAN_TIME: Final = re.compile(
    rf"(?P<half>{_HALF})?\s?(?P<h>{_NUMERAL})(?P<sign>[点时])"
    rf"(?P<rest>钟|整|半|[一三]刻|(?P<m>{_NUMERAL})分)?(?=(?P<to>\s?[至到~-])?)"
)
_ENGLISH: Final = re.compile(
    r"(?<![\d:.])(?P<h>1[0-2]|0?[1-9])(?P<clock>\so'clock)?"
    rf"(?:(?P<after>\s?{_MERIDIEM})"
    r"|\s(?P<part>in the (?:morning|afternoon|evening)\b|at night\b)|(?(clock)|(?!)))"
)
_PARTS: Final = {"in the morning": "am", "in the afternoon": "pm", "in the evening": "pm"}
"""At night may be before or after midnight."""
_BETWEEN: Final = tuple("至到~-")
_BOUNDED: Final = re.compile(r"之?前|以前|以后|起|开[始门馆放]|[关闭截]")
"""What only follows a time of day."""
_PAST: Final = {"钟": 0, "整": 0, "半": 30, "一刻": 15, "三刻": 45}


class ClockTime(NamedTuple):
    """A time of day as stated."""

    minutes: int
    """Since midnight."""
    exact: bool
    """False where the half of the day is not told: five may be 17:00."""
    start: int
    end: int


def find_times(folded: str) -> list[ClockTime]:
    """Times of day in folded text, in order.

    A bare number with 点 or 时 (四点建议) is one only with its half of the day, minutes, as the end
    of a range, or before a word that bounds (六点前). A text that uses the 24-hour clock once uses
    it throughout.
    """
    times = [*_digital(folded)] if ":" in folded else []
    times += _han(folded)
    times += [
        _time(match, int(match["h"]), 0, match["after"] or _PARTS.get(match["part"] or ""))
        for match in matches_at(_ENGLISH, folded, [start for start, _ in digit_runs(folded)])
    ]
    return sorted(times, key=lambda time: time.start)


def _digital(folded: str) -> Iterator[ClockTime]:
    matches = list(_DIGITAL.finditer(folded))
    by_24 = any(int(match["h"]) > 12 for match in matches)
    for match in matches:
        half = match["half"] or match["after"] or ("24" if by_24 else None)
        yield _time(match, int(match["h"]), int(match["m"]), half)


def _han(folded: str) -> Iterator[ClockTime]:
    places = places_before(_SIGNS, _HAN_REACH, folded)
    matches = list(matches_at(_HAN_TIME, folded, places))
    by_24 = any(_number(match["h"]) > 12 for match in matches if match["sign"] == "时")
    for match in matches:
        ends_range = folded[: match.start()].rstrip().endswith(_BETWEEN)
        has_minutes = match["half"] or match["rest"] or match["to"] or ends_range
        if not (has_minutes or _BOUNDED.match(folded, match.end())):
            continue
        hour, minute = _number(match["h"]), _PAST.get(match["rest"] or "", 0)
        if match["m"]:
            minute = _number(match["m"])
        if hour <= 24 and minute < 60:
            yield _time(match, hour, minute, match["half"] or ("24" if by_24 else None))


def _time(match: re.Match[str], hour: int, minute: int, half: str | None) -> ClockTime:
    half = (half or "").strip()
    late = half.startswith(("p", "下午", "傍晚", "晚", "夜")) or (half == "中午" and hour < 11)
    if late and hour < 12:
        hour += 12
    elif hour == 12 and half.startswith(("a", "凌晨")):
        hour = 0
    exact = bool(half) or hour > 12
    return ClockTime((hour * 60 + minute) % (24 * 60), exact, match.start(), match.end())


def _number(numeral: str) -> int:
    return int(numeral) if numeral.isdigit() else int(han_value(numeral) or 0)
