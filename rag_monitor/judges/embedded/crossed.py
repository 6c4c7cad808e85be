"""Two clauses of an answer with parts in each other's place: who got which, what is whose.

"The duke kept the tolls, the cities the mines" holds no word that is not in the passages, when
those say it the other way round. Each clause is held against the clause of the passages that it
shares most with; where both lack what the other one's counterpart has, they were exchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from rag_monitor.language.tokens import term_set, tokenise

_CLAUSE: Final = re.compile(
    r"[。；！？，、;!?\n\0]|[,.:](?!\d)|\b(?:and|but|while|whereas|although|though)\b"
)
_HELD: Final = 0.4
"""Share of a clause that its counterpart must hold."""
_LEAST: Final = 0.7
"""Weight of what stands in the other's place, each way."""
_FEWEST: Final = 1.5
"""Weight of a clause below which nothing is told."""

Terms = frozenset[str]


def clauses(folded: str) -> list[Terms]:
    """The content terms of each clause of folded text, numbers left out."""
    found = []
    for text in _CLAUSE.split(folded):
        terms = term_set(tokenise(text), han=not text.isascii())
        worded = frozenset([term for term in terms if not term[0].isdigit()])
        if worded:
            found.append(worded)
    return found


def crossed(
    said: Sequence[Terms], known: Sequence[Terms], weights: Mapping[str, float]
) -> set[int]:
    """The numbers of the clauses of an answer whose parts stand in each other's place.

    Args:
        said: The clauses of the answer, in order.
        known: Those of the passages.
        weights: What each term weighs.
    """

    def weigh(terms: Terms) -> float:
        return sum([weights[term] for term in terms])

    counterparts: list[Terms | None] = []
    for clause in said:
        best = max(known, key=lambda other: weigh(clause & other), default=None)
        whole = weigh(clause)
        fits = best is not None and whole >= _FEWEST and weigh(clause & best) >= _HELD * whole
        counterparts.append(best if fits else None)
    found: set[int] = set()
    for (first, one), (second, other) in pairwise(enumerate(counterparts)):
        if one is None or other is None or one is other:
            continue
        here = (said[first] & other) - one - said[second]
        there = (said[second] & one) - other - said[first]
        if weigh(here) >= _LEAST and weigh(there) >= _LEAST:
            found |= {first, second}
    return found
