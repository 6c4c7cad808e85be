"""A cheap look before a pattern is tried."""

from __future__ import annotations

from collections.abc import Iterable


def holds_any(folded: str, hints: Iterable[str]) -> bool:
    """Whether any of `hints` stands in a text; a loop, for it is asked of every sentence."""
    for hint in hints:  # noqa: SIM110 - a generator takes twice as long
        if hint in folded:
            return True
    return False
