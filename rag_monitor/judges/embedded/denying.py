"""Clauses of a statement that some clause of the passages denies, whichever sentence it rests on.

"A second monitor needs no approval, and headsets need none either" rests on the sentence about
monitors; that another one says "headsets need approval" is seen only clause by clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.opposed import contrary
from rag_monitor.judges.embedded.pieces import Piece, parts

_SHARED: Final = 0.85
"""Share of the shorter clause's words that the other must hold."""
_LEAST_SHARED: Final = 0.5
"""The same of the statement's own clause."""
_FEWEST: Final = 2
"""Words in common below which two clauses are about different things."""


def denied_elsewhere(claim: Piece, evidence: Evidence) -> bool:
    """Whether clauses of the passages deny a clause of the claim, and none says the same.

    Args:
        claim: The statement.
        evidence: The passages.
    """
    words = claim.token_set
    known = [
        part
        for piece in evidence.denying
        if len(piece.content_set & words) >= _FEWEST
        for part in piece.denying
        if len(part.content_set & words) >= _FEWEST
    ]
    if not (known or claim.denied.heads):
        return False
    for clause in parts(claim.folded):
        own = clause.content_set
        if len(own) < _FEWEST:
            continue
        others = evidence.parts if clause.denied.heads else known
        rivals = _alike(own, others)
        if any(contrary(clause, other)[0] for other in rivals) and not any(
            contrary(clause, other) == (0, 0) for other in _alike(own, evidence.parts)
        ):
            return True
    return False


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
