"""Two clauses of an answer with parts in each other's place: who got which, what is whose.

"The duke kept the tolls, the cities the mines" holds no word that is not in the passages, when
those say it the other way round. Each clause is held against the clause of the passages that it
shares most with; where both lack what the other one's counterpart has, they were exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import fsum
from typing import Final

from rag_monitor.language.alternatives import quick
from rag_monitor.language.tokens import worded_terms

_CLAUSE: Final = quick(
    r"[。；！？，、;!?\n\0]|[,.:](?!\d)|\b(?:and|but|while|whereas|although|though)\b"
)
_HELD: Final = 0.4
"""Share of a clause that its counterpart must hold."""
_LEAST: Final = 0.7
"""Weight of what stands in the other's place, each way."""
_MOST: Final = 40
"""Clauses of a sentence that are looked at; an enumeration may have hundreds."""
_FEWEST: Final = 1.5
"""Weight of a clause below which nothing is told."""

Terms = frozenset[str]


def clauses(folded: str) -> list[Terms]:
    """The content terms of each clause of folded text, numbers left out."""
    return [terms for text in _CLAUSE.split(folded)[:_MOST] if (terms := worded_terms(text))]


def crossed(
    said: Sequence[Sequence[Terms]], known: Sequence[Sequence[Terms]], weights: Mapping[str, float]
) -> set[int]:
    """The numbers of the statements of an answer that have parts in each other's place.

    Args:
        said: The clauses of each statement, in order.
        known: Those of the sentence that each statement rests on.
        weights: What each term weighs.
    """
    look = weights.__getitem__
    clauses: list[tuple[int, Terms, Terms | None]] = []
    for number, own in enumerate(said):
        near = [c for place in known[max(0, number - 1) : number + 2] for c in place]
        clauses += [(number, clause, _counterpart(clause, near, look)) for clause in own]
    found: set[int] = set()
    for (first, mine, one), (second, theirs, other) in pairwise(clauses):
        if one is None or other is None or one == other:
            continue
        here = (mine & other) - one - theirs
        there = (theirs & one) - other - mine
        if here and there and min(_weigh(here, look), _weigh(there, look)) >= _LEAST:
            found |= {first, second}
    return found


Look = Callable[[str], float]


def _weigh(terms: Terms, look: Look) -> float:
    # Exact, for sets are in another order in every process, and a limit may be met to the bit.
    return fsum(map(look, terms))


def _counterpart(clause: Terms, near: Sequence[Terms], look: Look) -> Terms | None:
    """The clause that holds most of this one, if it holds enough."""
    best, most = None, 0.0
    for other in near:
        shared = clause & other
        if shared and (held := _weigh(shared, look)) > most:
            best, most = other, held
    if best is None:
        return None
    whole = _weigh(clause, look)
    return best if whole >= _FEWEST and most >= _HELD * whole else None
