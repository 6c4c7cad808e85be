"""From features to probabilities: the learnt weights, for claims and for answers.

Everything adds up in log-odds of doubt. Weights of doubt features are never negative, so no text
can raise its score by matching less.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp
from operator import mul
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.embedded.facts import Facts
from rag_monitor.judges.embedded.features import CLAIM_FEATURES, ClaimEvidence
from rag_monitor.language.script import has_han

Read = tuple[float, float]
"""What an encoder says of a claim: log-odds of contradiction, and of missing support, against
support."""

_LIMIT: Final = 30.0
_SETTLED: Final = -4.0
"""Doubt, at most, of what stands word for word in the passages: below that of any other claim."""
_REPLIED: Final = 2.0
"""Doubt of a bare yes or no that the passages gainsay, and trust in one that they share: of the
cases of `evaluation/01` nine in ten are told right, which is about e^2."""
_EMPTY: Final = 8.0
"""Doubt of a claim that states nothing, or that only talks to the judge: as sure as an encoder
can be."""
_TWIN: Final = 2.0
"""Doubt, at least, of a claim that repeats a sentence but for a fact. Its learnt weight leaves some
near twins (`tests/unit/judges/embedded/twins.py`) undoubted beside words that are all covered."""
_UNFOUND: Final = 1.6
"""Doubt, at least, of a claim of which no word stands in the passages, so that no encoder reads it:
of 327 such statements with labels, in both languages, 271 were unsupported, about e^1.6."""
_TWINS: Final = CLAIM_FEATURES.index("twin")
_MOSTLY_COVERED: Final = 0.5
"""A claim that talks to the judge, but of which the passages hold so much, is judged like any
other."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What was learnt for one language."""

    claim: tuple[float, ...]
    bias: float
    read: Read
    """Weights of what an encoder says; zeros without one."""
    unread: Read
    """What stands for it where it did not read a claim: the mean over those it read."""
    slope: float
    """Calibration of a claim's log-odds: slope and shift."""
    shift: float
    answer: tuple[float, float]
    """Shares of the greatest doubt of an answer's claims, and of their mean, in its own."""
    answer_slope: float
    """Calibration of the doubt of an answer of several claims: slope and shift."""
    answer_shift: float
    threshold: float
    """`answer_supported` below this is flagged."""


class ClaimVerdict(NamedTuple):
    """How doubtful one claim is, and why."""

    doubt: float
    """Log-odds that the passages do not support it, before calibration."""
    probability: float
    """Calibrated probability that they do."""
    reason: str


class Model:
    """The weights of both languages."""

    def __init__(self, packed: bytes) -> None:
        data: dict[str, Any] = json.loads(packed)
        if tuple(data["features"]) != CLAIM_FEATURES:
            raise ValueError(
                "the weights were learnt on other features; run benchmarks/embedded_judge/train.py"
            )
        self.version: str = data["version"]
        self.encoder: str = data.get("encoder", "")
        """Version of the encoder the weights were learnt with; empty: none."""
        self.digest = hashlib.sha256(packed).hexdigest()[:12]
        self._weights = {language: _weights(w) for language, w in data["languages"].items()}

    def weights(self, text: str) -> Weights:
        """The weights for the language of `text`."""
        return self._weights["zh" if has_han(text) else "en"]

    def of_language(self, language: str) -> Weights:
        """The weights of `en` or `zh`."""
        return self._weights[language]

    def claim(self, found: ClaimEvidence, read: Read | None = None) -> ClaimVerdict:
        """Judge one claim; `read` is what the encoder says, None where it was not asked."""
        return judge_claim(found, read, self.weights(found.span.text))

    def answer(self, verdicts: Sequence[ClaimVerdict], text: str) -> tuple[float, float]:
        """Probability that no claim is unsupported, and the log-odds that one is."""
        odds = answer_odds([verdict.doubt for verdict in verdicts], self.weights(text))
        return 1 - sigmoid(odds), odds


def _weights(learnt: dict[str, Any]) -> Weights:
    own: dict[str, Any] = {name: learnt[name] for name in Weights.__slots__}
    for name, value in own.items():
        if isinstance(value, list):
            own[name] = tuple(map(float, value))
    return Weights(**own)


def judge_claim(found: ClaimEvidence, read: Read | None, weights: Weights) -> ClaimVerdict:
    """Judge one claim by the weights of its language."""
    parts = list(map(mul, found.features, weights.claim))
    told = heeded(weights.unread if read is None else read, found.proven)
    said = tuple(map(mul, weights.read, told))
    doubt, reason = settle(found, weights.bias + sum(parts) + sum(said))
    if not reason:
        reason = "supported" if doubt < 0 else _reason(found.facts)
        if reason == "not_covered" and read is not None and said[0] > max(said[1], *parts):
            reason = "contradiction"
    return ClaimVerdict(doubt, 1 - sigmoid(weights.slope * doubt + weights.shift), reason)


def heeded(read: Read, proven: float) -> Read:
    """What counts of what an encoder says: no doubt of what words and facts prove.

    It does not know every form of a number. Left out, figures of sets that taught nothing fall by
    .013 of AUROC in Chinese and .003 in English, of number forms by .07 and .01.
    """
    contradicted, missing = read
    left = 1 - proven
    return (
        min(0.0, contradicted) + left * max(0.0, contradicted),
        min(0.0, missing) + left * max(0.0, missing),
    )


def settle(found: ClaimEvidence, doubt: float) -> tuple[float, str]:
    """The doubt of a claim, and why, where no weighing decides; "" where it does."""
    if found.agrees is not None:
        return (-_REPLIED, "supported") if found.agrees else (_REPLIED, "contradiction")
    if not (found.piece.terms or found.verbatim or any(len(t) > 1 for t in found.piece.tokens)):
        return max(doubt, _EMPTY), "nothing_stated"
    if found.piece.addressed and found.covered < _MOSTLY_COVERED:
        return max(doubt, _EMPTY), "injection_plea"
    if found.verbatim:
        return min(doubt, _SETTLED), "verbatim"
    if found.passage is None:
        return max(doubt, _UNFOUND), ""
    if found.features[_TWINS]:
        return max(doubt, _TWIN), ""
    return doubt, ""


def _reason(facts: Facts) -> str:
    """The exact fact that speaks against a claim in doubt, if one does."""
    told = {
        "number_mismatch": facts.numbers or (facts.moved and not facts.dates),
        "date_mismatch": facts.dates,
        "name_not_found": facts.names,
        "negation": facts.negation,
    }
    return next((reason for reason, speaks in told.items() if speaks), "not_covered")


def answer_doubt(doubts: Sequence[float], weights: Weights) -> float:
    """An answer's doubt from the doubts of its claims: the greatest, and their mean.

    Not their sum, with which long answers would be doubted for their length.
    """
    greatest, mean = weights.answer
    return greatest * max(doubts) + mean * sum(doubts) / len(doubts)


def answer_odds(doubts: Sequence[float], weights: Weights) -> float:
    """Calibrated log-odds that a claim is unsupported; of one claim alone they are its own."""
    if len(doubts) == 1:
        return weights.slope * doubts[0] + weights.shift
    return weights.answer_slope * answer_doubt(doubts, weights) + weights.answer_shift


def sigmoid(value: float) -> float:
    """1 / (1 + e^-value), without overflow."""
    return 1 / (1 + exp(-max(-_LIMIT, min(_LIMIT, value))))


def read_model(path: Path) -> Model:
    """The weights in a file, as `rag-monitor distil` writes it.

    Raises:
        ConfigurationError: The file is missing or cannot be used.
    """
    try:
        return Model(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            "weights {path}: {reason}", path=path, reason=error.strerror
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            "weights {path} cannot be used ({kind}: {reason}); learn them anew with: rag-monitor "
            "distil ROWS --output {path}",
            path=path,
            kind=type(error).__name__,
            reason=error,
        ) from None


@cache
def lexical() -> Model:
    """The shipped weights of words alone."""
    return Model((resources.files(__package__) / "weights.json").read_bytes())


@cache
def full() -> Model:
    """The shipped weights of words and of the shipped encoder."""
    folder = resources.files(__package__) / "shipped"
    return Model((folder / "weights.json").read_bytes())
