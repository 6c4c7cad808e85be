"""Tokens for matching: English words lightly stemmed, single Han characters, digit groups.

Works on text that `normalise` has folded. Needs no segmenter and no model.
"""

from __future__ import annotations

from rag_monitor.language.match_positions import holds_digit
from rag_monitor.language.stems import GRAMMAR
from rag_monitor.language.vocabulary import present


def tokenise(folded: str) -> list[str]:
    """All tokens of folded text, in order, function words included, words stemmed."""
    return present().tokens(folded)


def is_content(token: str) -> bool:
    """Whether a token carries meaning of its own."""
    return token not in GRAMMAR


def is_han(token: str) -> bool:
    """Whether a token is one Han character."""
    return len(token) == 1 and "\u3400" <= token <= "\u9fff"


def term_set(folded: str) -> frozenset[str]:
    """Content tokens of folded text and every pair of neighbouring Han characters.

    Pairs of pure grammar are left out.
    """
    return present().terms(folded)


def worded_terms(folded: str) -> frozenset[str]:
    """As `term_set`, numbers left out."""
    terms = term_set(folded)
    if not holds_digit(folded):
        return terms
    return frozenset([term for term in terms if not term[0].isdigit()])
