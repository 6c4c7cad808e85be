"""A question as a title: as much of it as fits, and when the whole has to stand beside it.

The style sheet cuts what shows to lines; what is sent is bounded here, so that the fifty questions
of a list are no megabyte.
"""

from __future__ import annotations

from typing import Final
from unicodedata import east_asian_width

IN_A_LIST: Final = 400
"""Characters of a question in a row: more than two lines of any window hold."""
IN_A_HEADING: Final = 1500
"""Characters of a question above its trace: more than six lines of any window hold."""
_SIX_LINES_NARROW: Final = 200
"""Columns that six lines of a heading hold for certain on a telephone."""
_SIX_LINES_WIDE: Final = 540
"""The same in a window of 1000 pixels; the style sheet knows the same width."""


def title_of(question: str | None, most: int) -> str:
    """The beginning of a question on one line; empty where there is nothing to read."""
    line = " ".join((question or "").split())
    return line if len(line) <= most else line[:most].rstrip() + "…"


def around(text: str | None, wanted: str, most: int) -> str:
    """The piece of a text with `wanted` in it on one line; its beginning where that holds it."""
    whole = " ".join((text or "").split())
    at = whole.lower().find(" ".join(wanted.split()).lower())
    if at + len(wanted) <= most * 2 // 3:
        return title_of(whole, most)
    return "…" + title_of(whole[max(0, at - most // 3) :], most)


def cut_in(question: str | None) -> str:
    """The windows in which six lines may not hold a question: `every`, `narrow`, none (empty)."""
    shown = title_of(question, IN_A_HEADING)
    columns = sum(1 + (east_asian_width(one) in "WF") for one in shown)
    if columns > _SIX_LINES_WIDE:
        return "every"
    return "narrow" if columns > _SIX_LINES_NARROW else ""
