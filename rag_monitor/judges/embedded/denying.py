"""Clauses of a statement that some clause of the passages denies, whichever sentence it rests on.

"A second monitor needs no approval, and headsets need none either" rests on the sentence about
monitors; that another one says "headsets need approval" is seen only clause by clause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rag_monitor.judges.embedded.opposed import contrary
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.polarity import may_deny

_SHARED: Final = 0.85
"""Share of the shorter clause's words that the other must hold."""
_LEAST_SHARED: Final = 0.5
"""The same of the statement's own clause."""
_FEWEST: Final = 2
"""Words in common below which two clauses are about different things."""


def denied_elsewhere(claim: Piece, near: Sequence[Piece]) -> bool:
    """Whether clauses of the passages deny a clause of the claim, and none says the same.

    Args:
        claim: The statement.
        near: The sentences of the passages that share enough words with it to be about it.
    """
    words = claim.token_set
    known = [part for part in _denying(near) if len(part.content_set & words) >= _FEWEST]
    if not (known or claim.denied.heads):
        return False
    everything: list[Piece] | None = None
    for clause in claim.parts:
        own = clause.content_set
        if len(own) < _FEWEST:
            continue
        if everything is None:
            everything = [part for piece in near for part in piece.parts]
        rivals = _alike(own, everything if clause.denied.heads else known)
        if any(contrary(clause, other)[0] for other in rivals) and not any(
            contrary(clause, other) == (0, 0) for other in _alike(own, everything)
        ):
            return True
    return False


def _denying(near: Sequence[Piece]) -> Iterator[Piece]:
    """The clauses that deny something."""
    for piece in near:
        if may_deny(piece.folded):
            yield from [part for part in piece.parts if part.denied.heads]


def _alike(own: frozenset[str], others: Sequence[Piece]) -> list[Piece]:
    """The clauses that are about what the statement's clause is about."""
    return [other for other in others if _same_subject(own, other.content_set)]


def _same_subject(own: frozenset[str], theirs: frozenset[str]) -> bool:
    shared = len(own & theirs)
    return (
        shared >= _FEWEST
        and shared >= _SHARED * min(len(own), len(theirs))
        and shared >= _LEAST_SHARED * len(own)
    )
