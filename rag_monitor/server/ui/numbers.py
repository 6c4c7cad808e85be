"""How numbers are written on every page: scores, shares, counts and differences, in one style.

A score says how good something is and reads 0.87. A share says how many of all and reads 13.2%.
Durations have `charts.durations`.
"""

from __future__ import annotations


def score_text(value: float | None, digits: int = 2) -> str:
    """A score with two digits, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


def share_text(value: float | None) -> str:
    """A share, 0 to 1, in percent: with one digit below ten, where it matters; or a dash."""
    if value is None:
        return "–"
    percent = 100 * value
    digits = 1 if 0 < percent < 9.95 else 0
    return f"{percent:.{digits}f}%".replace("-", "−")


def share_interval(lower: float | None, upper: float | None) -> str:
    """The interval of a share: `8.1–12%`; empty where there is none."""
    if lower is None or upper is None:
        return ""
    return f"{share_text(lower).removesuffix('%')}–{share_text(upper)}"


def count_text(value: float) -> str:
    """A number of things: 12,345."""
    return f"{value:,.0f}"


def figure_text(value: float | None) -> str:
    """A rule's number: a ratio with three digits, a count or milliseconds without any."""
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
