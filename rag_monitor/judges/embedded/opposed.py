"""Sentences of the same words that say the contrary: one denies, or has an opposite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.polarity import HAN_OPPOSITES, OPPOSITES, undo, undoes
from rag_monitor.language.tokens import is_han, term_set


def contrary(claim: Piece, other: Piece) -> tuple[int, int]:
    """Whether two sentences differ in negation, and how many opposites they hold."""
    denied, known = claim.denied, other.denied
    near, own = other.token_set, claim.token_set
    negation = int(
        _denies(claim, other, denied.heads - known.reach, near - own)
        or _denies(other, claim, known.heads - denied.reach, frozenset())
    )
    different = own - near
    opposites = 0
    for token in _OPPOSED & different:
        others = OPPOSITES[token]
        opposites += any(
            (word in near or word in other.terms) and word not in own for word in others
        )
    if claim.folded.isascii():
        left = near if other.folded.isascii() else near | other.terms
        opposites += "non" not in own and undo(different, left - own)
    else:
        opposites += _han_opposites(claim, other.folded)
    return negation, opposites


def _denies(piece: Piece, other: Piece, heads: frozenset[str], undone: frozenset[str]) -> bool:
    """Whether another sentence says one of the `heads` that a sentence denies.

    Not if one of the words `undone` says the same: not covered, and uncovered.
    """
    for head in heads:  # a loop, for there are hardly ever any
        if _once(piece, head) and _states(other, head) and not undoes(head, undone):
            return True
    return False


_DENIALS: Final = frozenset("不没未无未别非勿莫否禁止得可能以需要须必应当允许准予严概谢绝拒")
REPEATED: Final = 0.85
"""Share of a claim's words, those of denying and permitting aside, that repeat a sentence."""
_FEWEST_REPEATED: Final = 2
"""A lone word in common is no statement repeated."""


def repeats(claim: Piece, other: Piece, share: float = REPEATED) -> bool:
    """Whether a sentence holds nearly every word of a claim, whatever it says of them.

    Args:
        claim: The statement.
        other: A sentence, or a clause.
        share: Which part of the claim's words, at least.
    """
    own = [
        token
        for token in claim.content
        if token in other.token_set
        or not (token in _DENIALS or token in _OPPOSED or undoes(token, other.token_set))
    ]
    if len(own) < _FEWEST_REPEATED or len(other.tokens) > 3 * len(claim.tokens) + 6:
        return False
    return sum([token in other.token_set for token in own]) >= share * len(own)


def _once(piece: Piece, head: str) -> bool:
    """Whether a piece holds `head` no more than once: else it may deny it and state it."""
    places = piece.folded if is_han(head[0]) else piece.tokens
    return places.count(head) <= 1


def _states(piece: Piece, head: str) -> bool:
    """Whether a piece says `head` without denying it."""
    return head in piece.folded if is_han(head[0]) else head in piece.token_set


def _han_table() -> dict[str, tuple[str, ...]]:
    """Each Chinese opposite to those that contradict it; two single characters say too little."""
    table: dict[str, list[str]] = {}
    for left, right in HAN_OPPOSITES:
        if len(left) > 1 or len(right) > 1:
            table.setdefault(left, []).append(right)
            table.setdefault(right, []).append(left)
    return {word: tuple(others) for word, others in table.items()}


_OPPOSED: Final = frozenset(OPPOSITES)
_HAN_OPPOSED: Final[Mapping[str, tuple[str, ...]]] = _han_table()


_HAN_PAIRED: Final = frozenset(word for word in _HAN_OPPOSED if word in term_set(word))
_HAN_OTHERS: Final = tuple(word for word in _HAN_OPPOSED if word not in _HAN_PAIRED)


_UNRELATED: Final = re.compile(r"没有?关系")
_MAY: Final = re.compile(r"可(?![能是以见靠观惜怕爱信])")
"""可 that permits: 可凭护照办理 says 可以."""


def _han_opposites(claim: Piece, evidence: str) -> int:
    text, evidence, found = _spelled_out(claim.folded), _spelled_out(evidence), 0
    for stated in (*(_HAN_PAIRED & claim.terms), *_HAN_OTHERS):
        if stated in text and stated not in evidence:
            found += sum(o not in text and o in evidence for o in _HAN_OPPOSED[stated])
    return found


def _spelled_out(folded: str) -> str:
    if "可" in folded:
        folded = _MAY.sub("可以", folded)
    return _UNRELATED.sub("无关", folded) if "关系" in folded else folded
