"""How numbers are written on pages and in messages: scores, shares, counts and differences.

A score says how good something is and reads 0.87. A share says how many of all and reads 13.2%.
Durations have `charts.durations`.
"""

from __future__ import annotations

import math
from typing import Final


def score_text(value: float | None, digits: int = 2) -> str:
    """A score with two digits, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


_MOST_DIGITS: Final = 4


def share_text(value: float | None, digits: int | None = None) -> str:
    """A share, 0 to 1, in percent: with one digit below ten, where it matters; or a dash.

    One below 0.1 % has as many digits as tell it from none: 0.04%.

    Args:
        value: The share.
        digits: So many instead, where a tenth matters beside 100 %, too.
    """
    if value is None:
        return "–"
    percent = 100 * value
    if digits is None:
        digits = 1 if 0 < percent < 9.95 else 0
    if digits and 0 < percent < 0.095:
        digits = max(digits, min(-math.floor(math.log10(percent)), _MOST_DIGITS))
    return f"{percent:.{digits}f}%".replace("-", "−")


def share_interval(lower: float | None, upper: float | None, digits: int | None = None) -> str:
    """The interval of a share: `8.1–12%`; empty where there is none."""
    if lower is None or upper is None:
        return ""
    return f"{share_text(lower, digits).removesuffix('%')}–{share_text(upper, digits)}"


def given_share(value: float) -> str:
    """A share that somebody set, with as many digits as they gave it: 99.9%."""
    return f"{round(100 * value, 6):g}%"


def points_text(value: float, digits: int = 1) -> str:
    """A difference of shares in percentage points, with its sign and without their name: +3.2."""
    return change_text(100 * value, digits)


def count_text(value: float | None) -> str:
    """A number of things, 12,345; or a dash."""
    return "–" if value is None else f"{value:,.0f}"


class Count(int):
    """A number of things within a sentence: written as `count_text` does."""

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else count_text(int(self))


def multiple_text(value: float | None) -> str:
    """How many times something else: `14.40 ×`, or a dash."""
    return "–" if value is None else f"{value:,.2f} ×"


def money_text(value: float) -> str:
    """An amount, with cents; below one with three digits that count, as calls cost so little."""
    if not 0 < value < 1:
        return f"{value:,.2f}"
    return f"{value:.{2 - math.floor(math.log10(value))}f}"


def quantile_name(share: float) -> str:
    """What the `share` quantile is called: p90."""
    return f"p{100 * share:g}"


def figure_text(value: float | None) -> str:
    """A number of which only its size is told: from 0 to 1 with three digits, else with one."""
    if value is None or abs(value) <= 1:
        return score_text(value, 3)
    return f"{value:,.1f}".removesuffix(".0")


def foreign_text(value: float) -> str:
    """A number on a scale of which nothing is known: four digits that count."""
    return f"{value:.4g}".replace("-", "−")


def change_text(value: float, digits: int = 2) -> str:
    """A difference of scores with its sign."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else f"{0:.{digits}f}"
