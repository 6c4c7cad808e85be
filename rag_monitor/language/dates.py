"""Dates in Chinese and English text, compared at the coarser precision of two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rag_monitor.language.match_positions import digit_runs, matches_at, places_of
from rag_monitor.language.stems import stem
from rag_monitor.language.tokens import tokenise

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH: Final = rf"(?<!\w)(?P<mn>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b"
_HAN_DIGITS: Final = {c: str(i) for i, c in enumerate("〇一二三四五六七八九")} | {"零": "0"}
_YEAR: Final = r"(?P<y>1[0-9]\d\d|20\d\d)"
_FIRST_YEAR: Final = r"(?P<y>[12](?<!\d.)(?:(?<=1)[0-9]|(?<=2)0)\d\d)"
_FIRST_MONTH: Final = r"(?P<m>[0-9](?<!\d.)(?:(?<=1)[0-2]|(?<=0)[1-9]|(?<=[1-9])))"
"""Both begin with a plain set of characters, so that the search runs through other text; the
look-behind then sees to it that a number begins there."""

_DASHED: Final = re.compile(
    rf"(?<!\d){_YEAR}[-/.](?P<m>0?[1-9]|1[0-2])[-/.](?P<d>3[01]|[12]\d|0?[1-9])(?!\d)"
)
_SLASHED: Final = (
    re.compile(rf"(?<![\d/])(?P<m>0?[1-9]|1[0-2])/(?P<d>3[01]|[12]\d|0?[1-9])/{_YEAR}(?![\d/])"),
    re.compile(rf"(?<![\d/])(?P<d>3[01]|[12]\d)/(?P<m>0?[1-9]|1[0-2])/{_YEAR}(?![\d/])"),
)
"""The month first, unless the day tells that it is second."""
_HAN_DATES: Final = (
    re.compile(
        rf"{_FIRST_YEAR}\s*年\s*"
        r"(?:(?P<m>1[0-2]|0?[1-9])\s*月(?:\s*(?P<d>3[01]|[12]\d|0?[1-9])\s*[日号])?)?"
    ),
    re.compile(rf"{_FIRST_MONTH}\s*月\s*(?P<d>3[01]|[12]\d|0?[1-9])\s*[日号]"),
)
_NAMED: Final = (
    re.compile(
        rf"{_MONTH}\.?\s+(?P<d>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\b(?:\s*,?\s*{_YEAR}\b)?"
    ),
    re.compile(
        rf"(?<!\w)(?P<d>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\.?"
        rf"(?:\s*,?\s*{_YEAR}\b)?"
    ),
    re.compile(rf"{_MONTH}\.?\s*,?\s+(?:of\s+)?{_YEAR}\b"),
)
_LONE_YEAR: Final = re.compile(
    r"(?<![\d.,$£€¥-])(?P<y>1\d\d\d|20\d\d)"
    r"(?![\d%]|[.,]\d|\s?(?:[元人个名位万亿件条吨米克公平次家所套辆台头只本册户亩部张份]"
    r"|毫|升|字|转|瓦|斤|步"
    r"|km|[kmµ]?g\b|m\b|[cm]m\b|m?l\b|k?w\b|[kmgt]b\b|k?hz\b|ms\b|mah\b|k?cal\b|rpm\b|px\b"
    r"|miles|people|dollars|euros|yuan|usd\b|eur\b|hours|minutes|seconds))"
)
_SEASON: Final = re.compile(r"[-/](\d\d)(?![\d/-])")
_TO_DAY: Final = re.compile(
    r"\s?(?:至|到|-|~)\s?(?P<d>3[01]|[12]\d|0?[1-9])(?:\s?[日号]|(?<=-\d)(?![\w%])|(?<=-\d\d)(?![\w%]))"
)
"""The last day of a range that leaves out the month: 3月8日至15日, March 8-15."""
_MONTH_STEMS: Final = frozenset(map(stem, _MONTHS)) - {"may"}
_MAY: Final = re.compile(r"may\.?,?\s+(?:of\s+)?\d|\d(?:st|nd|rd|th)?\s+(?:of\s+)?may")
"""The month that is also a common word: tried only beside a number."""
_HAN_YEAR: Final = re.compile(r"[〇零一二三四五六七八九]{4}(?=年)")
_HAN_DAY: Final = re.compile(r"([一二三四五六七八九十]{1,3})(?=[月日号])")


class Date(NamedTuple):
    """A date of any precision; at least one part is set."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    """Offset into the text it was found in."""
    end: int

    def agrees(self, other: Date) -> bool:
        """Whether both could be the same day: equal in every part that both state.

        At least one part must be shared, or nothing has been compared.
        """
        pairs = (
            (self.year, other.year),
            (self.month, other.month),
            (self.day, other.day),
        )
        shared = [(a, b) for a, b in pairs if a is not None and b is not None]
        return bool(shared) and all(a == b for a, b in shared)

    def supported_by(self, others: Iterable[Date]) -> bool:
        """Whether some date says everything this one says, or the parts stand apart.

        "March 2021" is supported by "5 March 2021", but a full date is not by its year alone.
        """
        dates = list(others)
        year, month, day = self[:3]
        for other in dates:
            if (
                (year is None or year == other.year)
                and (month is None or month == other.month)
                and (day is None or day == other.day)
            ):
                return True
        compatible = [other[:3] for other in dates if self.agrees(other)]
        return all(
            part is None or any(other[place] == part for other in compatible)
            for place, part in enumerate((year, month, day))
        )


def find_dates(folded: str, tokens: frozenset[str] | None = None) -> list[Date]:
    """All dates in folded text, in order, not overlapping; Han numerals are read too.

    Args:
        folded: The text.
        tokens: Its tokens when they are known already; only saves time.
    """
    han = "年" in folded or "月" in folded
    text = _arabic(folded) if han else folded
    runs = digit_runs(text)
    if not runs:
        return []
    tokens = frozenset(tokenise(folded)) if tokens is None else tokens
    taken = bytearray(len(text))
    dates: list[Date] = []
    for match in _matches(text, [start for start, _ in runs], tokens, han=han):
        start, end = match.start(), _season_end(text, match)
        if 1 in taken[start:end]:
            continue
        taken[start:end] = b"\1" * (end - start)
        dates.append(_date(match, end))
    dates += [last for first in dates if (last := _last_day(text, first))]
    return sorted(dates, key=lambda date: date.start)


def _season_end(text: str, match: re.Match[str]) -> int:
    """Where a date ends, the second year of a season included: 2018-19."""
    season = _SEASON.match(text, match.end()) if match.re is _LONE_YEAR else None
    follows = season is not None and int(season[1]) == (int(match["y"]) + 1) % 100
    return season.end() if season is not None and follows else match.end()


def _last_day(text: str, first: Date) -> Date | None:
    """The end of a range that begins with `first` and names no other month."""
    if first.day is None:
        return None
    match = _TO_DAY.match(text, first.end)
    if match is None:
        return None
    day = int(match["d"])
    return Date(first.year, first.month, day, match.start("d"), match.end())


def _matches(
    text: str, digits: list[int], tokens: frozenset[str], *, han: bool
) -> Iterator[re.Match[str]]:
    """Whatever may be a date, what is more exact first; runs of digits begin at `digits`."""
    years = [start for start in digits if text[start] in "12"]
    yield from matches_at(_DASHED, text, years)
    if "/" in text:
        for pattern in _SLASHED:
            yield from matches_at(pattern, text, digits)
    if han:
        for pattern in _HAN_DATES:
            yield from pattern.finditer(text)
    if not _MONTH_STEMS.isdisjoint(tokens) or ("may" in text and _MAY.search(text)):
        months = places_of(_MONTHS, text)
        for pattern, places in zip(_NAMED, (months, digits, months), strict=True):
            yield from matches_at(pattern, text, places)
    yield from matches_at(_LONE_YEAR, text, years)


def _date(match: re.Match[str], end: int) -> Date:
    parts = match.groupdict()
    month = _MONTHS[parts["mn"]] if parts.get("mn") else _number(parts.get("m"))
    return Date(
        year=_number(parts.get("y")),
        month=month,
        day=_number(parts.get("d")),
        start=match.start(),
        end=end,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _arabic(text: str) -> str:
    """Han digits of years, months and days as Arabic ones; the length is kept."""
    text = _HAN_YEAR.sub(lambda m: "".join(_HAN_DIGITS[c] for c in m.group()), text)
    return _HAN_DAY.sub(lambda m: _small(m.group(1)), text)


def _small(numeral: str) -> str:
    """A Han numeral below 40, padded with spaces to its own length."""
    tens, _, ones = numeral.partition("十")
    if "十" in numeral:
        value = int(_HAN_DIGITS.get(tens, "1")) * 10 + int(_HAN_DIGITS.get(ones, "0"))
    elif len(numeral) == 1:
        value = int(_HAN_DIGITS[numeral])
    else:
        return numeral
    return str(value).rjust(len(numeral))
