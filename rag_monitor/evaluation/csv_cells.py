"""Cells that a spreadsheet cannot mistake for a formula."""

from __future__ import annotations

from typing import Final

_DANGEROUS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def guarded(value: object) -> str:
    """A cell's text; what a spreadsheet would run begins with an apostrophe (OWASP, CSV injection).

    Numbers stay numbers: only text is guarded.
    """
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    text = str(value)
    return f"'{text}" if text.startswith((*_DANGEROUS, "'")) else text


def unguarded(cell: str) -> str:
    """The text behind a cell that `guarded` wrote."""
    return cell.removeprefix("'")
