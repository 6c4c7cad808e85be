"""What somebody may have meant by a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is spelt most like `word`; None where none is like it."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return near[0] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known name for an error message, as ` (did you mean 'name'?)`, or nothing."""
    near = nearest(word, known)
    return "" if near is None else f" (did you mean {near!r}?)"
