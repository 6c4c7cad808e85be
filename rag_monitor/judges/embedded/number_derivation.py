"""Numbers that follow from others: a total, a difference, a share, a product of what is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Final

from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.quantity import COUNTED, TIME, Quantity, same_value

_OPERATIONS: Final = {
    "less": re.compile(
        r"[减降折差净剩]|下[浮调跌]|优惠|扣除|缩短|便宜|少了|多出|比|享年"
        r"|\b(?:less|lower(?:ed)?|decreas\w+|reduc\w+|discount\w*|off|below|drop\w*|fell|cut|minus"
        r"|down|cheaper|declin\w+|differ\w*|fewer|remain\w*|left|longer|shorter|older|younger"
        r"|higher|taller|more|after|later|earlier|between|gap|lasted)\b"
    ),
    "more": re.compile(
        r"[增涨升加]|上[浮调]|提高|\b(?:increas\w+|rais\w+|higher|plus|more|surcharge|added|above|grew"
        r"|grow\w*|rose|rise\w*|up|extra|additional|gain\w*)\b"
    ),
    "total": re.compile(
        r"[共总]|合计|之和|\b(?:total\w*|sum|together|combined|altogether|overall|in all|plus)\b"
    ),
    "times": re.compile(
        r"[每乘倍×*]"
        r"|\b(?:each|per|times|multipl\w+|every|apiece|a (?:day|week|month|year))\b"
    ),
    "part": re.compile(
        r"[占均每%÷/]|比[例率]|分之|除以|\b(?:average|mean|per|share|ratio|divided|fraction|percent\w*"
        r"|proportion|rate|each)\b"
    ),
}  # fmt: skip
"""Words that name an operation; a number follows by no other."""
_MOST: Final = 6
"""Numbers tried; with more of them, anything follows."""
_DAY: Final = 1440
_RATIO: Final = ("", "time")
"""Units of how many times one number is the other."""
_CONSTANTS: Final = frozenset(
    {(12.0, "month"), (7.0, "day"), (24.0, "hour"), (60.0, "minute"), (60.0, "second"),
     (52.0, "week"), (365.0, "day")}
)  # fmt: skip


def is_constant(quantity: Quantity) -> bool:
    """Whether everybody knows the number: twelve months, seven days, sixty minutes."""
    return (quantity.value, quantity.unit) in _CONSTANTS


class NumberDerivation:
    """Numbers of one answer that were derived so far: the next ones may rest on them."""

    def __init__(self, evidence: EvidenceIndex) -> None:
        self._evidence = evidence
        self._derived: list[Quantity] = []

    def derives(self, stated: Quantity, claim: Segment, near: Sequence[Quantity]) -> bool:
        """Whether a number follows by an operation that its statement names.

        It rests on numbers of the statement that are known, of the question, and derived before;
        where the statement names no other number, on those `near` its evidence.
        """
        others = [q for q in claim.quantities if q is not stated]
        usable = [q for q in others if is_constant(q) or self._evidence.equal(q)]
        usable += [*self._evidence.question.quantities, *self._derived]
        if not others:
            usable += near
        cues = {name for name, words in _OPERATIONS.items() if words.search(claim.folded)}
        distinct = list({(q.value, q.kind, q.unit): q for q in usable}.values())[:_MOST]
        follows = any(
            same_value(stated.value, value, max(2, stated.digits), 16)
            for value in _values(stated, distinct, cues)
        ) or _apart(stated, [*distinct, *near])
        if follows:
            self._derived.append(stated)
        return follows


def _values(stated: Quantity, usable: Sequence[Quantity], cues: set[str]) -> Iterator[float]:
    """What the named operations make of the known numbers, in the unit of `stated`."""
    for a, b in permutations(usable, 2):
        if b.kind == "percent" and _alike(a, stated):
            yield from _changed(a.value, b.value / 100, cues)
        elif _alike(a, b) and _alike(a, stated):
            yield from _summed(a.value, b.value, cues)
        elif _alike(a, b) and stated.kind == "percent" and b.value:
            yield from _compared(100 * a.value / b.value, cues)
        if b.kind != "percent" and (_alike(a, stated) or (_alike(a, b) and stated.unit in _RATIO)):
            if cues & {"times", "total"}:
                yield a.value * b.value
            if cues & {"times", "part"} and b.value:
                yield a.value / b.value
    same = [q.value for q in usable if q.kind == stated.kind and q.unit in (stated.unit, "")]
    if "total" in cues and len(same) > 1:
        yield sum(same)
    if "part" in cues and len(same) > 1:
        yield sum(same) / len(same)


def _summed(a: float, b: float, cues: set[str]) -> Iterator[float]:
    if "less" in cues:
        yield a - b
    if cues & {"more", "total"}:
        yield a + b


def _compared(percent: float, cues: set[str]) -> Iterator[float]:
    """What one number is of another, and how much less or more, in percent."""
    if "part" in cues:
        yield percent
    if "less" in cues:
        yield 100 - percent
    if "more" in cues:
        yield percent - 100


def _changed(value: float, share: float, cues: set[str]) -> Iterator[float]:
    """A number less a share of it, with it, and the share alone."""
    if "less" in cues:
        yield value * (1 - share)
    if "more" in cues:
        yield value * (1 + share)
    if "part" in cues or not cues & {"less", "more"}:
        yield value * share


def _alike(a: Quantity, b: Quantity) -> bool:
    """Whether two numbers can be added: no unit, or the same, or both count things."""
    return a.kind == b.kind and (
        not a.unit or not b.unit or a.unit == b.unit or {a.unit, b.unit} <= COUNTED
    )


def _apart(stated: Quantity, usable: Sequence[Quantity]) -> bool:
    """Whether it is as long as from one known time of day to another."""
    if not stated.base or stated.base[0] != "duration":
        return False
    minutes = stated.base[1] / 60
    times = [q.value for q in usable if q.kind == TIME]
    return any((b - a) % _DAY == minutes for a, b in permutations(times, 2))
