"""Derived numbers: does a stated number follow from numbers that stand in the passages?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Final

from rag_monitor.language.numbers import COUNTED, Quantity, same_value

_DOWN: Final = re.compile(
    r"下浮|下调|下降|降低|减少|优惠|折扣|打折|(?<=[\d一二三四五六七八九])折|减免|扣除|减去|下跌|缩短|便宜|少了|降"
    r"|\b(?:less|lower(?:ed)?|decreas\w+|reduc\w+|discount\w*|off|below|drop\w*|fell|cut|"
    r"minus|down|cheaper|deduct\w*|declin\w+|shr[iu]nk)\b"
)
_UP: Final = re.compile(
    r"上浮|上调|上升|提高|增加|增长|加收|上涨|另加|加上|涨|附加"
    r"|\b(?:increas\w+|rais\w+|higher|plus|more|surcharge|added|above|grew|grow\w*|rose|"
    r"rise\w*|up|extra|additional|gain\w*)\b"
)
_SUM: Final = re.compile(
    r"合计|总共|共计|总计|一共|之和|总和|总额|共|\b(?:total\w*|sum|together|combined|"
    r"altogether|overall|in all|plus)\b"
)
_DIFFERENCE: Final = re.compile(
    r"相差|差额|之差|剩余|还剩|剩下|多出|比|减|净|享年|差|\b(?:differ\w*|more than|less than|fewer|"
    r"remain\w*|left|minus|longer|shorter|older|younger|higher|lower|after|later|earlier|"
    r"between|gap|lasted|span\w*)\b"
)
_PRODUCT: Final = re.compile(
    r"每|乘|倍|\b(?:each|per|times|multipl\w+|every|twice|double|triple|apiece|a (?:day|"
    r"week|month|year))\b|×|\*"
)
_PARTS: Final = re.compile(
    r"占|平均|人均|比例|比率|分之|除以|每|均|\b(?:average|mean|per|share|ratio|half|divided|"
    r"fraction|percent\w*|proportion|rate|each)\b|%|÷|/"
)
OPERATION_WORDS: Final = re.compile(
    "|".join(p.pattern for p in (_DOWN, _UP, _SUM, _DIFFERENCE, _PRODUCT, _PARTS))
    + r"|即|等于|得|算|\b(?:equal\w*|amount\w*|calculat\w*|mak\w*|mean\w*|cost)\b"
)
"""Words that name an operation; a claim with a derived number may add them."""
_HALF: Final = re.compile(r"减半|半价|一半|对半|\bhal(?:f|ved)\b")
_DOUBLE: Final = re.compile(r"翻[一]?倍|加倍|两倍|双倍|\b(?:twice|double[ds]?)\b")
_LIMIT: Final = 6
_FACTORS: Final = {
    ("year", "month"): 12.0, ("week", "day"): 7.0, ("day", "hour"): 24.0, ("hour", "minute"): 60.0,
    ("minute", "second"): 60.0, ("km", "m"): 1000.0, ("m", "cm"): 100.0, ("cm", "mm"): 10.0,
    ("kg", "g"): 1000.0, ("g", "mg"): 1000.0, ("tonne", "kg"): 1000.0, ("l", "ml"): 1000.0,
    ("foot", "inch"): 12.0, ("lb", "oz"): 16.0, ("gb", "mb"): 1024.0, ("hour", "second"): 3600.0,
    ("second", "ms"): 1000.0, ("mb", "kb"): 1024.0, ("tb", "gb"): 1024.0,
    ("kw", "watt"): 1000.0, ("mg", "mcg"): 1000.0, ("decade", "year"): 10.0,
    ("fortnight", "day"): 14.0, ("fortnight", "week"): 2.0, ("gbp", "pence"): 100.0,
    ("eur", "cent"): 100.0, ("usd", "cent"): 100.0,
}  # fmt: skip


_CONSTANTS: Final = frozenset(
    {(12.0, "month"), (7.0, "day"), (24.0, "hour"), (60.0, "minute"), (60.0, "second"),
     (52.0, "week"), (365.0, "day")}
)  # fmt: skip


_CELSIUS: Final = "degree c"
_FAHRENHEIT: Final = "degree f"
_DEGREE: Final = 0.51
"""Degrees Fahrenheit by which a conversion may be rounded."""


def is_constant(quantity: Quantity) -> bool:
    """Whether everybody knows the number: twelve months, seven days, sixty minutes."""
    return (quantity.value, quantity.unit) in _CONSTANTS


@dataclass(frozen=True, slots=True)
class Cues:
    """Which operations the wording names."""

    down: bool
    up: bool
    total: bool
    difference: bool
    product: bool
    parts: bool

    @property
    def directed(self) -> bool:
        """Whether the wording tells to add or to take away."""
        return self.down or self.up or self.total or self.difference

    @classmethod
    def read(cls, folded: str) -> Cues:
        """The cues of a folded statement."""
        return cls(
            *(
                pattern.search(folded) is not None
                for pattern in (_DOWN, _UP, _SUM, _DIFFERENCE, _PRODUCT, _PARTS)
            )
        )


def derives(
    stated: Quantity,
    operands: Sequence[Quantity],
    folded: str,
    evidence: str = "",
    counts: Sequence[Quantity] = (),
) -> bool:
    """Whether `stated` follows from one to three of `operands` by an operation the wording names.

    Percent changes, sums, differences, products, ratios, shares, averages, halves, doubles, a sum
    with a product, and unit conversions. Units must fit: years do not follow from ages and months.
    The first `_LIMIT` operands are tried.

    Args:
        stated: The number to explain, an offset of which into `folded` is known.
        operands: Numbers that are known.
        folded: The statement; the clause of the number decides if it names an operation itself.
        evidence: The sentence that the statement rests on, where it may be halved or doubled.
        counts: Small numbers that may multiply a known one, known or not.
    """
    cues = _cues_near(stated, folded)
    given = list(operands)[:_LIMIT]
    if any(converts(stated, operand) for operand in given):
        return True
    candidates = [v for a, b in permutations(given, 2) for v in _results(a, b, stated, cues)]
    alike = [q.value for q in given if q.kind == stated.kind and _fits(stated, q)]
    if len(given) > 2 and cues.total:
        candidates.append(
            sum(q.value for q in given if q.kind == stated.kind and q.unit in {stated.unit, ""})
        )
    if len(alike) > 1 and cues.parts:
        candidates.append(sum(alike) / len(alike))
    times = [*given, *(q for q in counts if q not in given)]
    if cues.total or counts:
        candidates += _with_products(stated, given, times)
    if cues.product:
        candidates += [a.value * c.value for a in given for c in counts if _carries(a, stated)]
    candidates += _spelled_out(stated, folded, [q.value for q in times])
    said = f"{folded} {evidence}"
    for pattern, factor in ((_HALF, 0.5), (_DOUBLE, 2.0)):
        if alike and pattern.search(said):
            candidates += [factor * value for value in alike]
    return any(_close(stated, value) for value in candidates)


_CLAUSE: Final = re.compile(r"[，；;。：:]|,(?!\d)")


def _cues_near(stated: Quantity, folded: str) -> Cues:
    """The cues of a statement; whether to add or take away, its clause tells first."""
    start, stop = 0, len(folded)
    for match in _CLAUSE.finditer(folded):
        if match.start() >= stated.end:
            stop = match.start()
            break
        start = match.end()
    near, whole = Cues.read(folded[start:stop]), Cues.read(folded)
    return replace(near, product=whole.product, parts=whole.parts) if near.directed else whole


def _fits(a: Quantity, b: Quantity) -> bool:
    """Whether two numbers can be added: no unit, or the same, or both count things."""
    return not a.unit or not b.unit or a.unit == b.unit or {a.unit, b.unit} <= COUNTED


_EXPRESSION: Final = re.compile(
    r"(?<![\d.])\d[\d.,]*%?(?:\s?[a-z\u4e00-\u9fff]{0,3}\s?[-+*×x÷/]\s?[$€£¥]?\d[\d.,]*%?)+"
)
_TERM: Final = re.compile(r"([-+*×x÷/]?)\s?[$€£¥]?(\d[\d,]*(?:\.\d+)?)(%?)")


def _spelled_out(stated: Quantity, folded: str, known: Sequence[float]) -> Iterator[float]:
    """The values of the sums written out before a number, where every term of them is known."""
    for match in _EXPRESSION.finditer(folded, 0, stated.start):
        total, last = 0.0, 0.0
        for sign, digits, percent in _TERM.findall(match.group()):
            value = float(digits.replace(",", ""))
            if not any(same_value(value, k, 2, 16) for k in known):
                break
            value = value / 100 if percent else value
            if sign in {"", "+", "-"}:
                total, last = total + last, -value if sign == "-" else value
            elif sign in {"÷", "/"}:
                last = last / value if value else float("nan")
            else:
                last *= value
        else:
            yield total + last


def _with_products(
    stated: Quantity, given: Sequence[Quantity], times: Sequence[Quantity]
) -> Iterator[float]:
    """One number and a product: a first kilogram at 8 yuan and two more at 3."""
    for b, c in product(given, times):
        if b is not c and _carries(b, stated) and (not c.unit or not _carries(c, stated)):
            for a in given:
                if a is not b and a is not c and _carries(a, stated):
                    yield a.value + b.value * c.value


def _carries(a: Quantity, stated: Quantity) -> bool:
    """Whether a number has the kind and unit that a product is stated in."""
    return a.kind == stated.kind and _fits(a, stated)


def _close(stated: Quantity, value: float) -> bool:
    return same_value(stated.value, value, max(2, stated.digits), 16)


def converts(stated: Quantity, operand: Quantity) -> bool:
    """Whether `stated` is `operand` in another unit: 24 months are two years, a fifth is 20%."""
    if "percent" in (stated.kind, operand.kind) and stated.kind != operand.kind:
        share, percent = sorted((stated, operand), key=lambda q: q.kind == "percent")
        return not share.unit and 0 < share.value < 1 and _close(percent, 100 * share.value)
    if (operand.unit, stated.unit) in {(_CELSIUS, _FAHRENHEIT), (_FAHRENHEIT, _CELSIUS)}:
        celsius, other = sorted((operand, stated), key=lambda q: q.unit)
        return abs(celsius.value * 1.8 + 32 - other.value) < _DEGREE
    factor = _FACTORS.get((operand.unit, stated.unit))
    if factor is not None:
        return _close(stated, operand.value * factor)
    factor = _FACTORS.get((stated.unit, operand.unit))
    return factor is not None and _close(stated, operand.value / factor)


def _results(a: Quantity, b: Quantity, stated: Quantity, cues: Cues) -> Iterator[float]:
    if b.kind == "percent":
        yield from _percent_of(a, b, stated, cues)
    if a.kind == b.kind == stated.kind and _fits(a, b) and _fits(a, stated) and _fits(b, stated):
        yield from _sums(a, b, cues)
    if stated.kind == "percent":
        yield from _as_percent(a, b, cues)
    elif b.kind != "percent" and (_carries(a, stated) or _carries(b, stated)):
        yield from _products(a, b, cues)


def _percent_of(a: Quantity, b: Quantity, stated: Quantity, cues: Cues) -> Iterator[float]:
    share = b.value / 100
    if stated.kind != a.kind:
        return
    if cues.down or not cues.up:
        yield a.value * (1 - share)
    if cues.up or not cues.down:
        yield a.value * (1 + share)
    if not (cues.down or cues.up) or cues.parts:
        yield a.value * share


def _sums(a: Quantity, b: Quantity, cues: Cues) -> Iterator[float]:
    down = cues.down or cues.difference
    if cues.total or cues.up or not down:
        yield a.value + b.value
    if down or not (cues.total or cues.up or cues.product):
        yield a.value - b.value


def _as_percent(a: Quantity, b: Quantity, cues: Cues) -> Iterator[float]:
    if b.value == 0 or a.kind == "percent" or b.kind == "percent":
        if b.unit == "time" or a.kind == "percent":
            yield a.value * b.value
            yield a.value / b.value if b.value else float("nan")
        return
    if not (cues.up or cues.down):
        yield 100 * a.value / b.value
        return
    change = 100 * (a.value - b.value) / b.value
    if cues.up:
        yield change
    if cues.down:
        yield -change
    if cues.parts:
        yield 100 * a.value / b.value


def _products(a: Quantity, b: Quantity, cues: Cues) -> Iterator[float]:
    if cues.product or not (cues.total or cues.difference or cues.down or cues.up):
        yield a.value * b.value
    if b.value and (cues.parts or not (cues.total or cues.difference or cues.down or cues.up)):
        yield a.value / b.value
