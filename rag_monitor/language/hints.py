"""A cheap look before a pattern is tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from rag_monitor.language.compiled import COMPILED

_DIGIT: Final = re.compile(r"\d")


def _plain_holds_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


holds_digit: Final[Callable[[str], bool]] = COMPILED.holds_digit if COMPILED else _plain_holds_digit
"""Whether a text has a digit, of any script."""


def holds_any(folded: str, hints: Iterable[str]) -> bool:
    """Whether any of `hints` stands in a text; a loop, for it is asked of every sentence."""
    for hint in hints:  # noqa: SIM110 - a generator takes twice as long
        if hint in folded:
            return True
    return False
