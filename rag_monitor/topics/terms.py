"""Questions as sets of numbered terms: words, characters and pairs of characters.

Only numbers (CRC-32) are kept between runs: nobody reads a rare word of an erased question in what
is known of a topic.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Final

from rag_monitor.language.normalise import fold
from rag_monitor.language.tokens import term_set

_READ: Final = 400
"""Characters of a question that are read: it is asked at its beginning, what follows is pasted."""
_PREFIX: Final = 6
"""Letters of a word that count, so that `assemble` and `assembly` are one."""
_KEPT: Final = 20_000

Terms = frozenset[int]


def terms_of(question: str) -> Terms:
    """The terms of a question, numbers left out: those of orders tell no topic."""
    return frozenset(
        number_of(term[:_PREFIX]) for term in term_set(fold(question[:_READ])) if not _numeric(term)
    )


def _numeric(term: str) -> bool:
    return term[0].isdigit()


@lru_cache(_KEPT)
def number_of(term: str) -> int:
    """The number that stands for a term."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))
