"""How much a term tells: background weights of words and Han bigrams, shipped with the package.

Counted by `benchmarks/embedded_judge/train.py` over permissively licensed passages.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources
from typing import Final

from rag_monitor.language.memo_dict import MemoDict
from rag_monitor.language.stems import STOP_CHARS

UNKNOWN: Final = 1.0
"""Weight of a term the background has never seen."""
_NO_WORD: Final = 0.15
"""Weight of a pair of Han characters never seen of which one is grammar: hardly ever a word."""
_LARGEST: Final = 200_000


@cache
def background() -> dict[str, float]:
    """Term to weight in 0..1: 0.05 for the commonest words, 1 for the rarest."""
    packed = (resources.files(__package__) / "lexicon.json.gz").read_bytes()
    by_step: dict[str, str] = json.loads(gzip.decompress(packed))
    return {term: int(step) / 20 for step, terms in by_step.items() for term in terms.split(" ")}


def weight(term: str) -> float:
    """How much a match or a miss of `term` counts, 0 to 1."""
    return WEIGHTS[term]


def _weigh(term: str) -> float:
    weight = background().get(term)
    if weight is not None:
        return weight
    pair = len(term) == 2 and not term.isascii()
    return _NO_WORD if pair and not STOP_CHARS.isdisjoint(term) else UNKNOWN


WEIGHTS: Final = MemoDict(_weigh, largest=_LARGEST, longest=16)
"""Each term to its weight."""
