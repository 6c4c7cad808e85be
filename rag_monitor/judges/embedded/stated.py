"""What a number or a date is said of: whether the passages state another one in that place.

"Women may give blood every twelve weeks" holds no number and no word that is not in the passages,
when those say it of men. Each number is taken with the words around it, up to its neighbours of
the same unit; where the words of a statement fit another one clearly better, it has the wrong one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import fsum
from typing import Final, NamedTuple

from rag_monitor.language.dates import Date
from rag_monitor.language.numbers import TIME, Quantity
from rag_monitor.language.tokens import worded_terms

_SEGMENT: Final = re.compile(r"[。；！？;!?\n\0]|\.(?!\d)")
_CLAUSE: Final = re.compile(r"[，：]|[,:](?!\d)")
_NEXT: Final = re.compile(r"[，、：和及与而]|[,:](?!\d)|\b(?:and|or|but|while|whereas)\b")
"""Where the words about the next number of a sentence begin."""
_BESIDE: Final = 0.75
"""What words of a neighbouring clause count."""
_FITS: Final = 0.4
"""Share of a statement's words that the place of another number must hold."""
_BETTER: Final = 0.15
"""By which share it must hold more of them than every place of the stated number."""
_DEGREE: Final = "degree"
"""Whether of Celsius is often left out."""
_LEAST: Final = 1.0
"""Weight of the words around a number below which nothing is told."""


_RANGE: Final = re.compile(r"[^\w\s]?\s?(?:-|~|/|to|and|至|到|或|or|和|与|及)\s?[^\w\s]?")
"""Between the two numbers of a range or a choice, of which the same is said."""
_EITHER: Final = re.compile(r"\s?(?:或|or\b)")


Value = Quantity | Date
Sort = tuple[str, str]


class Stated(NamedTuple):
    """A number or a date with the terms around it."""

    value: Value
    near: frozenset[str]
    """Terms of its clause."""
    beside: frozenset[str]
    """Terms of the clauses around it, and of the number before it in the sentence."""


def by_sort(values: Iterable[Value]) -> dict[Sort, list[Value]]:
    """Every number that has a unit and every day, by what may stand in its place."""
    found: dict[Sort, list[Value]] = {}
    for value in values:
        kind = sort(value)
        if kind is not None:
            found.setdefault(kind, []).append(value)
    return found


def places(folded: str, row: Sequence[Value]) -> list[Stated]:
    """Values of one sort in the order of a text, with what is said around each in its sentence."""
    bounds = [0, *[match.end() for match in _SEGMENT.finditer(folded)], len(folded)]
    found: list[Stated] = []
    for place, within in groupby(row, lambda value: bisect_right(bounds, value.start)):
        groups = _ranges(folded, list(within))
        found += _sentence(folded, groups, bounds[place - 1], bounds[min(place, len(bounds) - 1)])
    return found


def _ranges(folded: str, row: Sequence[Value]) -> list[list[Value]]:
    """Numbers with those that end their range."""
    found: list[list[Value]] = []
    for value in row:
        if found and _RANGE.fullmatch(folded, found[-1][-1].end, value.start):
            found[-1].append(value)
        else:
            found.append([value])
    return found


def _sentence(
    folded: str, groups: Sequence[Sequence[Value]], start: int, stop: int
) -> Iterator[Stated]:
    """The numbers of one unit in one sentence; the words between two belong to either."""
    before: frozenset[str] = frozenset()
    for number, group in enumerate(groups):
        end = stop
        if number + 1 < len(groups):
            cuts = [*_NEXT.finditer(folded, group[-1].end, groups[number + 1][0].start)]
            end = cuts[-1].start() if cuts else groups[number + 1][0].start
        commas = [match.start() for match in _CLAUSE.finditer(folded, start, end)]
        first = max([start, *[c + 1 for c in commas if c < group[0].start]])
        last = min([end, *[c for c in commas if c >= group[-1].end]])
        near = worded_terms(f"{folded[first : group[0].start]} {folded[group[-1].end : last]}")
        beside = worded_terms(f"{folded[start:first]} {folded[last:end]}")
        if _EITHER.match(folded, start):
            near |= before
        yield from [Stated(value, near, (beside | before) - near) for value in group]
        before |= near | beside
        start = end


def another_fits(said: Stated, known: Sequence[Stated], weights: Mapping[str, float]) -> bool:
    """Whether the place of another number of the unit holds clearly more of the words around it.

    Args:
        said: A number of a statement.
        known: The numbers of the passages that are of its sort.
        weights: What each term weighs.
    """
    near = {term: weights[term] for term in said.near}
    beside = {term: _BESIDE * weights[term] for term in said.beside}
    # Exact sums, for sets are in another order in every process, and limits decide.
    total = fsum(near.values()) + fsum(beside.values())
    if total < _LEAST:
        return False

    def held(place: Stated) -> float:
        return (
            fsum([w for term, w in near.items() if term in place.near])
            + _BESIDE * fsum([w for term, w in near.items() if term in place.beside])
            + fsum([w for term, w in beside.items() if term in place.near or term in place.beside])
        )

    rival = same = 0.0
    for place in known:
        if agree(said.value, place.value):
            same = max(same, held(place))
        else:
            rival = max(rival, held(place))
    return rival >= _FITS * total and rival >= same + _BETTER * total


def sort(value: Value) -> Sort | None:
    """What may stand in the place of a number: another of its unit; None for what has none.

    Years and months of a narrative stand in too many places to be held against each other.
    """
    if isinstance(value, Date):
        return ("date", "day") if value.day is not None else None
    if value.kind == TIME:
        return (TIME, "")
    unit = _DEGREE if value.unit.startswith(_DEGREE) else value.unit
    return (value.kind, unit) if unit or value.kind != "number" else None


def agree(a: Value, b: Value) -> bool:
    """Whether two numbers, or two dates, are the same."""
    if isinstance(a, Date):
        return isinstance(b, Date) and a.agrees(b)
    return isinstance(b, Quantity) and a.equals(b)
