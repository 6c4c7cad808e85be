"""Numbers that are the least or the most of something: at least 3 days, up to €500, 五天以内.

A limit says of many numbers what holds for them, and stands for none of them: "bookings over four
hours" speaks of one of five hours, and not of one of three.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import Final

from rag_monitor.language.numbers import TIME, Quantity


class Bound(Enum):
    """What a number is to what it is said of."""

    LEAST = "least"
    """At least, over, from … on."""
    MOST = "most"
    """At most, under, within."""


_LARGER: Final = (
    "more|longer|older|higher|larger|bigger|greater|heavier|taller|wider|deeper|dearer|thicker"
)
_SMALLER: Final = "less|fewer|shorter|younger|lower|smaller|lighter|cheaper|thinner|narrower"
_BETWEEN: Final = r"(?:\s(?:a|an|the|about|an? (?:age|total) of))?\s?(?:hk\$|us\$|[$£€¥])?\s?$"
"""What may stand between the words of a limit and its number."""
_BEFORE: Final = re.compile(
    rf"(?:(?P<denied>\b(?:no|not|never|cannot|mustn't|can't)\s(?:be\s)?)?\b(?:"
    rf"(?P<over>(?:{_LARGER}) than|over|above|exceed(?:s|ing)?|beyond|in excess of)"
    rf"|(?P<under>(?:{_SMALLER}) than|under|below)"
    rf"|(?P<least>at (?:the )?(?:very )?least|(?:a )?minimum of|upwards of)"
    rf"|(?P<most>at (?:the )?(?:very )?most|(?:a )?maximum of|up to|within|limited to"
    rf"|as (?:long|many|much|high) as))){_BETWEEN}"
    r"|(?P<han_least>(?:至少|最少|起码)[\u3400-\u9fff]{0,3}|不[得能可]?[少低短小]于|最低|年?满"
    r"|(?<![不别得会能])超[过出]|(?<!不)[高多大长]于)为?\s?¥?$"
    r"|(?P<han_most>(?:至多|最多)[\u3400-\u9fff]{0,3}|[不别][得能会要]?超[过出]|不[高多大长]于"
    r"|最[高长大]|[低少小短]于|不足|[不未]满)为?\s?¥?$"
)
_AFTER: Final = re.compile(
    rf"\s?(?:[a-z]+\s){{0,2}}?(?:(?P<least>(?:or|and) (?:{_LARGER}|over|above|up|upwards)"
    rf"|upwards|at least|minimum)"
    rf"|(?P<most>(?:or|and) (?:{_SMALLER}|under|below)|at (?:the )?most|maximum))\b"
    r"|[\u3400-\u9fff]{0,2}?(?:(?P<han_least>[及或]?以上|起(?=[,。;!、\s]|$))"
    r"|(?P<han_most>[及或]?以下|[以之]内|内(?![部容外在])))"
)
_LEAST: Final = frozenset({"over", "least", "han_least"})
_REACH: Final = 44
"""Characters around a number that are looked at."""
_RANGE: Final = re.compile(r"[^\w\s]?\s?(?:-|~|to|至|到)\s?[^\w\s]?")


def bound(folded: str, quantity: Quantity) -> Bound | None:
    """Whether a number of folded text is the least or the most of something; None when neither.

    Times of day are none: before and after them mostly two different things are said.
    """
    if quantity.kind == TIME:
        return None
    found = _BEFORE.search(folded[max(0, quantity.start - _REACH) : quantity.start])
    if found is None:
        found = _AFTER.match(folded[quantity.end : quantity.end + _REACH])
    if found is None:
        return None
    parts = found.groupdict()
    least = any(parts.get(name) for name in _LEAST)
    denied = parts.get("denied") and (parts.get("over") or parts.get("under"))
    return Bound.LEAST if least != bool(denied) else Bound.MOST


def limits(folded: str, quantities: Sequence[Quantity]) -> list[Quantity]:
    """The numbers of folded text that are a limit, or have a unit and end a range."""
    found = [quantity for quantity in quantities if bound(folded, quantity)]
    for first, second in pairwise(quantities):
        if second.unit and _RANGE.fullmatch(folded, first.end, second.start):
            found += (first, second)
    return found
