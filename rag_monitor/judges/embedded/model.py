"""From features to probabilities: the learnt weights, the contradiction floors, the calibration.

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
from math import exp, log, log1p
from typing import Any, Final

from rag_monitor.judges.embedded.features import CLAIM_FEATURES, ClaimEvidence
from rag_monitor.language.script import has_han

_LIMIT: Final = 30.0
_NOTHING_FOUND: Final = 0.8
"""A claim of which so much stands neither in the passages nor in the question rests on nothing,
however short it is."""
_NOTHING_ADDS: Final = (4.0, 2.0)
"""What that adds to the doubt of the claim, and of the answer."""
_ABSOLUTE_ADDS: Final = 0.5
"""What each word without exception adds: such a claim needs more than the passages gave."""
_EMPTY: Final = 8.0
"""Doubt of a claim that states nothing, or that only talks to the judge."""
_MOSTLY_COVERED: Final = 0.5
"""A claim of which passages hold so much is judged like any other, whatever else it says."""
_FULL_CLAIM: Final = 3
"""Tokens of a claim long enough to be sure that nothing of it was found."""
COUNTED: Final = 3
"""Up to so many claims, their number is held against the total doubt; longer answers run a
real risk with every claim."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What was learnt for one language."""

    claim: tuple[float, ...]
    bias: float
    slope: float
    """Calibration of a claim's log-odds: slope and shift."""
    shift: float
    answer_slope: float
    """Calibration of the answer's log total doubt: slope and shift."""
    answer_shift: float
    count_slope: float
    """What the log number of claims, `COUNTED` at most, adds to the total doubt; not positive."""
    threshold: float
    """`answer_supported` below this is flagged."""


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """How doubtful one claim is, and why."""

    doubt: float
    """Log-odds that the passages do not support it, before calibration."""
    for_answer: float
    """What it contributes to the doubt of the whole answer."""
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
        self.digest = hashlib.sha256(packed).hexdigest()[:12]
        self._weights = {
            language: Weights(
                claim=tuple(w["claim"]),
                **{name: w[name] for name in Weights.__slots__ if name != "claim"},
            )
            for language, w in data["languages"].items()
        }

    def weights(self, text: str) -> Weights:
        """The weights for the language of `text`."""
        return self._weights["zh" if has_han(text) else "en"]

    def claim(self, found: ClaimEvidence) -> ClaimVerdict:
        """Judge one claim."""
        weights = self.weights(found.span.text)
        doubt = weights.bias
        for value, weight in zip(found.features, weights.claim, strict=True):
            doubt += value * weight
        doubt, for_answer, reason = settle(found, doubt)
        probability = 1 - sigmoid(weights.slope * doubt + weights.shift)
        return ClaimVerdict(doubt, for_answer, probability, reason)

    def answer(self, doubts: Sequence[float], text: str) -> tuple[float, float]:
        """Probability that no claim is unsupported, and the raw number behind it.

        The raw number is the log of the summed doubt, less a part of what sheer length adds to
        it: one bad claim is enough, and many slightly doubtful ones add up.
        """
        weights = self.weights(text)
        raw = total_doubt(doubts) + weights.count_slope * log(min(COUNTED, len(doubts)))
        return 1 - sigmoid(weights.answer_slope * raw + weights.answer_shift), raw


def total_doubt(doubts: Sequence[float]) -> float:
    """Log of minus the log-probability that all claims hold, from their log-odds of doubt."""
    return log(max(1e-9, sum(softplus(doubt) for doubt in doubts)))


_FLOORS: Final = (
    ("numbers_missing", 1.8, 1.3, 0.2, "number_mismatch"),
    ("units_changed", 1.7, 1.2, 0.4, "unit_mismatch"),
    ("dates_missing", 1.8, 1.3, 0.2, "date_mismatch"),
    ("names_missing", 1.8, 0.9, 0.25, "name_not_found"),
    ("negation", 1.7, 0.7, 0.6, "negation"),
    ("opposites", 1.7, 1.0, 0.6, "opposite"),
    ("substituted", 1.6, -9.0, 0.0, "changed_word"),
)
"""Finding, least doubt it leaves for the claim, and for the answer, coverage it needs, reason.

The answer's is less: over many claims a check is sometimes wrong, and one claim decides."""


def settle(found: ClaimEvidence, doubt: float) -> tuple[float, float, str]:
    """Lift the doubt to the floor of every contradiction; lower it for derived and quoted facts.

    Returns:
        The settled log-odds of doubt of the claim, what it contributes to the answer's, and the
        reason code.
    """
    idle = _says_nothing(found, doubt)
    if idle is not None:
        return idle
    doubt += _ABSOLUTE_ADDS * min(2, found.findings.absolutes)
    for_claim = for_answer = doubt
    reason, highest = "", -_LIMIT
    for finding, claim_floor, answer_floor, needed, name in _FLOORS:
        if getattr(found.findings, finding) and found.covered >= needed:
            for_claim = softplus_max(for_claim, claim_floor)
            for_answer = softplus_max(for_answer, answer_floor)
            if claim_floor > highest:
                reason, highest = name, claim_floor
    if reason:
        return for_claim, for_answer, reason
    if found.verbatim:
        return min(doubt, -3.6), min(doubt, -3.6), "verbatim"
    if found.findings.numbers_derived and found.features[0] < 0.5:
        return min(doubt, -3.4), min(doubt, -3.4), "derived_number"
    if found.features[0] >= _NOTHING_FOUND:
        nothing = (found.features[0] - _NOTHING_FOUND) / (1 - _NOTHING_FOUND)
        size = min(1.0, len(found.piece.tokens) / _FULL_CLAIM)
        if found.findings.numbers_missing or len(found.piece.tokens) == 1:
            size = 1.0
        for_claim += _NOTHING_ADDS[0] * nothing * size
        return for_claim, for_answer + _NOTHING_ADDS[1] * nothing, "not_covered"
    return doubt, doubt, "supported" if doubt < 0 else "not_covered"


def _says_nothing(found: ClaimEvidence, doubt: float) -> tuple[float, float, str] | None:
    """What `settle` says of a claim without a word of its own, or that only talks to the judge."""
    letters = max(map(len, found.piece.tokens), default=0) <= 1
    if letters and not found.piece.terms and not found.verbatim:
        return max(doubt, _EMPTY), max(doubt, _EMPTY), "nothing_stated"
    beside = found.covered >= _MOSTLY_COVERED or found.findings.numbers_derived
    if found.piece.addressed and not beside:
        return max(doubt, _EMPTY), doubt + _NOTHING_ADDS[1], "injection_plea"
    return None


def softplus(value: float) -> float:
    """log(1 + e^value), without overflow."""
    return value + log1p(exp(-value)) if value > 0 else log1p(exp(max(-_LIMIT, value)))


def softplus_max(a: float, b: float) -> float:
    """log(e^a + e^b): a maximum that keeps the order of what lies below it."""
    high, low = max(a, b), min(a, b)
    return high + log1p(exp(max(-_LIMIT, low - high)))


def sigmoid(value: float) -> float:
    """1 / (1 + e^-value), without overflow."""
    return 1 / (1 + exp(-max(-_LIMIT, min(_LIMIT, value))))


@cache
def shipped() -> Model:
    """The model in the package."""
    return Model((resources.files(__package__) / "weights.json").read_bytes())
