"""Tokens for matching: English words lightly stemmed, single Han characters, digit groups.

Works on text that `normalise` has folded. Needs no segmenter and no model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from operator import add
from typing import Final

from rag_monitor.language.stems import GRAMMAR, STOP_CHARS
from rag_monitor.language.vocabulary import present

_HAN_RUN: Final = re.compile(r"[\u3400-\u9fff]{2,}")


def tokenise(folded: str) -> list[str]:
    """All tokens of folded text, in order, function words included, words stemmed."""
    return present().tokens(folded)


def is_content(token: str) -> bool:
    """Whether a token carries meaning of its own."""
    return token not in GRAMMAR


def is_han(token: str) -> bool:
    """Whether a token is one Han character."""
    return len(token) == 1 and "\u3400" <= token <= "\u9fff"


def term_set(tokens: Sequence[str], *, han: bool) -> frozenset[str]:
    """Content tokens and, with `han`, every pair of neighbouring Han characters.

    Pairs of pure grammar are left out.
    """
    found = frozenset(tokens).difference(GRAMMAR)
    if not han:
        return found
    runs = _HAN_RUN.findall("".join(tokens))
    pairs = chain.from_iterable([map(add, run, run[1:]) for run in runs])
    return found.union(pairs).difference(_GRAMMAR_PAIRS)


_GRAMMAR_PAIRS: Final = frozenset(a + b for a in STOP_CHARS for b in STOP_CHARS)
