"""How much a term tells: background weights of words and Han bigrams, shipped with the package.

Counted by `benchmarks/embedded_judge/train.py` over permissively licensed passages.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources
from typing import Final

UNKNOWN: Final = 1.0
"""Weight of a term the background has never seen."""


@cache
def background() -> dict[str, float]:
    """Term to weight in 0..1: 0.05 for the commonest words, 1 for the rarest."""
    packed = (resources.files(__package__) / "lexicon.json.gz").read_bytes()
    by_step: dict[str, str] = json.loads(gzip.decompress(packed))
    return {term: int(step) / 20 for step, terms in by_step.items() for term in terms.split(" ")}


def weight(term: str) -> float:
    """How much a match or a miss of `term` counts, 0 to 1."""
    return background().get(term, UNKNOWN)
