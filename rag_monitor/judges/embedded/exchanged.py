"""A sentence with two of its parts exchanged: who bought whom, which rate is whose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

_JOINING: Final = frozenset("和与及或跟同、") | {"and", "or"}
"""What stands between these may be named in any order."""
_FEWEST: Final = 4
"""Tokens; shorter stretches say too little to be sure."""


def exchanged(said: Sequence[str], known: Sequence[str]) -> bool:
    """Whether a statement has all words of a sentence, with two parts in each other's place.

    "A bought B" and "B bought A". A part that merely stands elsewhere (yesterday, A …; A, yesterday
    …) changes nothing, nor does the order in an enumeration or of whole clauses.
    """
    if len(said) != len(known) or len(said) < _FEWEST or list(said) == list(known):
        return False
    if Counter(said) != Counter(known):
        return False
    start, stop = 0, len(said)
    while said[start] == known[start]:
        start += 1
    while said[stop - 1] == known[stop - 1]:
        stop -= 1
    mine, theirs = list(said[start:stop]), list(known[start:stop])
    return not _moved(mine, theirs) and _JOINING.isdisjoint(mine)


def _moved(mine: list[str], theirs: list[str]) -> bool:
    """Whether one stretch of it stands elsewhere: then one is the other begun at another place."""
    return any(mine[cut:] + mine[:cut] == theirs for cut in range(1, len(mine)))
