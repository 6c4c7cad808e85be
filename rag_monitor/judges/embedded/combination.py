"""The learnt weights of relevance: of passages to a question, and of answers to it.

One logistic combination for each language and each of the two; no weight is negative.
`benchmarks/embedded_judge/train_relevance.py` writes `relevance.json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import fsum
from operator import mul
from typing import Any, Final

from rag_monitor.judges.embedded.model import sigmoid
from rag_monitor.language.script import has_han

PASSAGE_FEATURES: Final = ("window", "rare", "beside", "measured", "measured_alone")
"""Names of the features of a passage (`relevance.py`), in the order of the vector."""
ANSWER_FEATURES: Final = (
    "focus", "brings", "own", "measured", "worded", "to_the_point", "commits",
)  # fmt: skip
"""The same of an answer (`grade.py`)."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Log-odds as a weighted sum."""

    weights: tuple[float, ...]
    bias: float

    def probability(self, features: Sequence[float]) -> float:
        """From the features of one passage or answer."""
        return sigmoid(fsum(map(mul, self.weights, features)) + self.bias)


@dataclass(frozen=True, slots=True)
class Relevance:
    """What was learnt for one language."""

    passage: Combination
    answer: Combination


@cache
def _packed() -> bytes:
    return (resources.files(__package__) / "relevance.json").read_bytes()


def with_relevance(digest: str) -> str:
    """A hash of other weights and of these."""
    return hashlib.sha256(digest.encode() + _packed()).hexdigest()[:12]


@cache
def _shipped() -> dict[str, Relevance]:
    learnt = json.loads(_packed())["languages"]
    return {
        language: Relevance(
            _combination(weights["passage"], PASSAGE_FEATURES),
            _combination(weights["answer"], ANSWER_FEATURES),
        )
        for language, weights in learnt.items()
    }


def _combination(learnt: dict[str, Any], features: Sequence[str]) -> Combination:
    if tuple(learnt["weights"]) != tuple(features):
        raise ValueError("relevance.json was learnt on other features; run train_relevance.py")
    return Combination(tuple(map(float, learnt["weights"].values())), float(learnt["bias"]))


def weights_for(text: str) -> Relevance:
    """The shipped weights for the language of a question or an answer."""
    return _shipped()["zh" if has_han(text) else "en"]
