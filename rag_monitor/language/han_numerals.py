"""Numbers in Han numerals: 二〇二三, 五百五十万, 十二点五."""

from __future__ import annotations

from typing import Final

_HAN: Final = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_PLACES: Final = {"十": 10, "百": 100, "千": 1000}


def han_value(numeral: str) -> float | None:
    """The value of a Han numeral, positional (二〇二三) or with places (五百五十万)."""
    whole, _, decimals = numeral.partition("点")
    if not whole:
        return None
    if all(c in _HAN for c in whole):
        value = float("".join(str(_HAN[c]) for c in whole))
    else:
        value = _with_places(whole)
    if decimals:
        value += float("0." + "".join(str(_HAN[c]) for c in decimals))
    return value


def _with_places(numeral: str) -> float:
    total = section = digit = 0
    for char in numeral:
        if char in _HAN:
            digit = _HAN[char]
        elif char in _HAN_PLACES:
            section += (digit or (1 if char == "十" else 0)) * _HAN_PLACES[char]
            digit = 0
        else:
            total = (total + section + digit) * (10_000 if char == "万" else 100_000_000)
            section = digit = 0
    return float(total + section + digit)
