"""Sentences that do not mean what they repeat: denied questions, and exceptions."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.exceptions import before_exception, excepted
from rag_monitor.language.tokens import is_han, tokenise

_QUESTION: Final = ("?", "吗", "吗。", "么?")
_NO: Final = re.compile(
    r"(?:[^:\s]{1,10}\s?:\s?)?(?:no(?:\s?[,.;:!-]|$)|not\b"
    r"|不(?!.{0,2}(?:担心|着急|客气|紧|问题))(?:用|需|可|能|行|会|是|支|必|允|要|对|得|,|。|$)"
    r"|没有(?!.{0,2}(?:问题|关系))|无需|无须|否)"
)
"""A reply that denies, behind the name or letter of who replies."""


def denied_question(best: Piece, evidence: Evidence) -> bool:
    """Whether a sentence is a question that the next one answers with no."""
    if not best.folded.endswith(_QUESTION):
        return False
    place = next((i for i, piece in enumerate(evidence.sentences) if piece is best), None)
    if place is None or place + 1 >= len(evidence.sentences):
        return False
    if evidence.owners[place] != evidence.owners[place + 1]:
        return False
    return _NO.match(evidence.sentences[place + 1].folded) is not None


def states_exception(claim: Piece, best: Piece) -> bool:
    """Whether a claim is about what a sentence leaves out, and does not leave it out itself."""
    left_out = excepted(best.folded)
    if not left_out or excepted(claim.folded):
        return False
    return any(
        word in claim.folded if is_han(word[0]) else word in claim.token_set for word in left_out
    )


def says_rule(claim: Piece, best: Piece) -> bool:
    """Whether a claim says of what a sentence leaves out what that says of everything else.

    "Leases must be signed by hand" does not, beside "scans do for all contracts except leases,
    which must be signed by hand".
    """
    left_out = frozenset().union(*[(word, *word) for word in excepted(best.folded)])
    rule = frozenset(tokenise(before_exception(best.folded)))
    own = [token for token in claim.content if token not in left_out]
    return sum([token in rule for token in own]) >= _MOSTLY * len(own)


_MOSTLY: Final = 0.85
