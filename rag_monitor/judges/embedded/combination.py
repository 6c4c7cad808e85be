"""The learnt weights of relevance and sufficiency: of passages, answers and contexts.

One logistic combination for each language and each of the three; no weight is negative.
`train_relevance.py` of `benchmarks/embedded_judge` writes `relevance.json`, `train_sufficiency.py`
`sufficiency.json`.
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
from rag_monitor.language import sentence_kinds
from rag_monitor.language.script import has_han

PASSAGE_FEATURES: Final = ("window", "rare", "beside", "measured", "measured_alone")
"""Names of the features of a passage (`relevance.py`), in the order of the vector."""
ANSWER_FEATURES: Final = (
    "focus", "brings", "own", "measured", "worded", "to_the_point", "commits",
)  # fmt: skip
"""The same of an answer (`grade.py`)."""
SUFFICIENCY_FEATURES: Final = ("window", "stated", "beside", "together")
"""The same of the contexts as a whole (`sufficiency.py`)."""
READ_FEATURES: Final = (*SUFFICIENCY_FEATURES, "read")
"""The same where an encoder read the question beside them (`sufficiency_reading.py`)."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Log-odds as a weighted sum."""

    weights: tuple[float, ...]
    bias: float

    def log_odds(self, features: Sequence[float]) -> float:
        """From the features of one passage or answer."""
        return fsum(map(mul, self.weights, features)) + self.bias

    def probability(self, features: Sequence[float]) -> float:
        """The same as a probability."""
        return sigmoid(self.log_odds(features))


@dataclass(frozen=True, slots=True)
class Relevance:
    """What was learnt for one language."""

    passage: Combination
    answer: Combination


@dataclass(frozen=True, slots=True)
class ReadSufficiency:
    """What was learnt of contexts beside an encoder."""

    encoder: str
    """Version of the encoder that it was learnt with."""
    probe: Combination
    """Log-odds from the states of a reading."""
    languages: dict[str, Combination]
    """By language, over `READ_FEATURES`."""

    def weights(self, text: str) -> Combination:
        """Those for the language of a question."""
        return self.languages[_language(text)]


@cache
def _packed(name: str) -> bytes:
    return (resources.files(__package__) / f"{name}.json").read_bytes()


def with_relevance(digest: str) -> str:
    """A hash of other weights, of these and of those that tell statements from other sentences."""
    own = _packed("relevance") + _packed("sufficiency") + sentence_kinds.packed()
    return hashlib.sha256(digest.encode() + own).hexdigest()[:12]


@cache
def _shipped() -> dict[str, Relevance]:
    learnt = json.loads(_packed("relevance"))["languages"]
    return {
        language: Relevance(
            _combination(weights["passage"], PASSAGE_FEATURES),
            _combination(weights["answer"], ANSWER_FEATURES),
        )
        for language, weights in learnt.items()
    }


@cache
def _sufficiency() -> dict[str, Combination]:
    learnt = json.loads(_packed("sufficiency"))["languages"]
    return {name: _combination(own, SUFFICIENCY_FEATURES) for name, own in learnt.items()}


@cache
def read_sufficiency() -> ReadSufficiency:
    """The shipped weights of contexts and the probe, for the encoder that they were learnt with."""
    learnt = json.loads(_packed("sufficiency"))["read"]
    probe = learnt["probe"]
    return ReadSufficiency(
        learnt["encoder"],
        Combination(tuple(probe["weights"]), probe["bias"]),
        {name: _combination(own, READ_FEATURES) for name, own in learnt["languages"].items()},
    )


def _combination(learnt: dict[str, Any], features: Sequence[str]) -> Combination:
    if tuple(learnt["weights"]) != tuple(features):
        raise ValueError("the weights were learnt on other features; learn them anew")
    return Combination(tuple(map(float, learnt["weights"].values())), float(learnt["bias"]))


def weights_for(text: str) -> Relevance:
    """The shipped weights for the language of a question or an answer."""
    return _shipped()[_language(text)]


def sufficiency_weights(text: str) -> Combination:
    """The shipped weights of contexts for the language of a question."""
    return _sufficiency()[_language(text)]


def _language(text: str) -> str:
    return "zh" if has_han(text) else "en"
