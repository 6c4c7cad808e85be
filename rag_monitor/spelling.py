"""What somebody may have meant by a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from rag_monitor.i18n import Message


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The known name spelt most like `word`, case aside; None where none is like it."""
    by_folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(word.casefold(), list(by_folded), n=1)
    return by_folded[near[0]] if near else None


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """The nearest known name for an error message, as ` (did you mean 'name'?)`, or nothing."""
    near = nearest(word, names)
    return "" if near is None else Message(" (did you mean {near!r}?)", near=near)
