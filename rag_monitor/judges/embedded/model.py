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
from math import exp, expm1, log, log1p
from operator import attrgetter, mul
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.embedded.features import CLAIM_FEATURES, ClaimEvidence
from rag_monitor.language.script import has_han

_LIMIT: Final = 30.0
_NOTHING_FOUND: Final = 0.8
"""A claim of which so much stands neither in the passages nor in the question rests on nothing,
however short it is."""
_NOTHING_ADDS: Final = (4.0, 2.0)
"""What that adds to the doubt of the claim, and of the answer."""
_BASELESS: Final = 0.95
"""A claim of which so much stands nowhere is baseless, as is one that only talks to the judge."""
_BASELESS_ADDS: Final = 4.0
"""What a baseless claim adds to the doubt of a short answer; in a long one it may be chatter."""
_HOPELESS_ADDS: Final = 6.0
"""What an answer of hopeless claims alone adds to its doubt."""
_NO_SUBJECT_ADDS: Final = 0.5
"""What a subject of which no passage speaks adds to the doubt of the claim, not of the answer."""
_ABSOLUTE_ADDS: Final = 0.5
"""What each word without exception adds: such a claim needs more than the passages gave."""
_APART_ADDS: Final = 0.4
"""What a denial between sentences that share few words adds; learnt for itself it comes to .38."""
_EMPTY: Final = 8.0
"""Doubt of a claim that states nothing, or that only talks to the judge."""
_PLEA_READS: Final = 2.0
"""What an encoder at least says against a claim that talks to the judge, about what it says of a
sentence on something else: it must not be the one who is talked round."""
_MOSTLY_COVERED: Final = 0.5
"""A claim of which passages hold so much is judged like any other, whatever else it says."""
_FEW_WORDS: Final = 4
"""Tokens of an answer so short that a word of it that stands nowhere is what it says."""
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
    encoder: float = 0.0
    """Weight of the encoder's log-odds of doubt; not negative. 0: it is not asked."""
    alone: float = 1.0
    """How many times that weight they have for the only claim of an answer to a question."""


class ClaimVerdict(NamedTuple):
    """How doubtful one claim is, and why."""

    doubt: float
    """Log-odds that the passages do not support it, before calibration."""
    for_answer: float
    """What it contributes to the doubt of the whole answer."""
    probability: float
    """Calibrated probability that they do."""
    reason: str
    baseless: bool = False
    """Whether it rests on nothing at all."""
    hopeless: float = 0.0
    """How sure it is, 0 to 1, that nothing of it is supported."""


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
        self._weights = {
            language: Weights(
                claim=tuple(map(float, w["claim"])),
                **{name: w[name] for name in Weights.__slots__ if name != "claim" and name in w},
            )
            for language, w in data["languages"].items()
        }

    def weights(self, text: str) -> Weights:
        """The weights for the language of `text`."""
        return self._weights["zh" if has_han(text) else "en"]

    def of_language(self, language: str) -> Weights:
        """The weights of `en` or `zh`."""
        return self._weights[language]

    def claim(self, found: ClaimEvidence, read: float = 0.0) -> ClaimVerdict:
        """Judge one claim; `read` is the encoder's log-odds of doubt, 0 where it was not asked."""
        return judge_claim(found, read, self.weights(found.span.text))

    def answer(self, verdicts: Sequence[ClaimVerdict], text: str) -> tuple[float, float]:
        """Probability that no claim is unsupported, and the raw number behind it."""
        weights = self.weights(text)
        raw = answer_doubt(verdicts, weights)
        return 1 - sigmoid(weights.answer_slope * raw + weights.answer_shift), raw


def judge_claim(found: ClaimEvidence, read: float, weights: Weights) -> ClaimVerdict:
    """Judge one claim by the weights of its language."""
    if found.piece.addressed:
        read = max(read, _PLEA_READS)
    doubt = weights.bias + weights.encoder * read + sum(map(mul, found.features, weights.claim))
    doubt, for_answer, reason = settle(found, doubt)
    probability = 1 - sigmoid(weights.slope * doubt + weights.shift)
    return ClaimVerdict(
        doubt,
        for_answer,
        probability,
        reason,
        _baseless(found, reason),
        _hopeless(found, doubt, for_answer, reason),
    )


def answer_doubt(verdicts: Sequence[ClaimVerdict], weights: Weights) -> float:
    """The log of an answer's summed doubt, less a part of what sheer length adds to it.

    One bad claim is enough, and many slightly doubtful ones add up. The log of a sum grows too
    slowly for an answer of which nothing at all is supported, so that it is doubted on top of it.
    """
    short = len(verdicts) <= COUNTED
    doubts = [v.for_answer + _BASELESS_ADDS * (short and v.baseless) for v in verdicts]
    hopeless = _HOPELESS_ADDS * min(v.hopeless for v in verdicts)
    return total_doubt(doubts) + weights.count_slope * log(min(COUNTED, len(doubts))) + hopeless


def heed(weights: Weights, claims: Sequence[ClaimEvidence]) -> float:
    """By how much more than its weight an encoder's word on these claims counts; 1 at least.

    An answer's doubt is the sum over its claims, and so is the encoder's error: of one claim alone
    it may say more than of each of ten. Claims without a question gain nothing by it, and a plea,
    which it always doubts, must not speak against what else is said.
    """
    if not claims or not claims[0].asked or any(claim.piece.addressed for claim in claims):
        return 1.0
    return max(1.0, weights.alone / len(claims))


def total_doubt(doubts: Sequence[float]) -> float:
    """Log of minus the log-probability that all claims hold, from their log-odds of doubt."""
    return log(max(1e-9, sum(softplus(doubt) for doubt in doubts)))


_FLOORS: Final = (
    ("numbers_missing", 1.8, 1.3, 0.2, "number_mismatch"),
    ("exchanged", 1.8, 1.3, 0.2, "number_mismatch"),
    ("limits_turned", 1.8, 1.3, 0.2, "number_mismatch"),
    ("contradicted", 2.4, 3.2, 0.2, "number_mismatch"),
    ("units_changed", 1.7, 1.2, 0.4, "unit_mismatch"),
    ("dates_missing", 1.8, 1.3, 0.2, "date_mismatch"),
    ("names_missing", 1.8, 0.9, 0.25, "name_not_found"),
    ("reversed", 2.7, 3.0, 0.2, "contradiction"),
    ("negation", 1.7, 0.7, 0.6, "negation"),
    ("opposites", 1.7, 1.0, 0.6, "opposite"),
    ("substituted", 1.6, -9.0, 0.0, "changed_word"),
)
"""Finding, least doubt it leaves for the claim, and for the answer, coverage it needs, reason.

The answer's is less: over many claims a check is sometimes wrong, and one claim decides."""
_AGAINST: Final = attrgetter(*[finding for finding, *_ in _FLOORS])


def settle(found: ClaimEvidence, doubt: float) -> tuple[float, float, str]:
    """Lift the doubt to the floor of every contradiction; lower it for derived and quoted facts.

    Returns:
        The settled log-odds of doubt of the claim, what it contributes to the answer's, and the
        reason code.
    """
    idle = _says_nothing(found, doubt)
    if idle is not None:
        return idle
    doubt = _strengthened(found, doubt)
    for_claim = doubt + _NO_SUBJECT_ADDS * found.findings.subject_missing
    for_answer = doubt
    reason, highest = "", -_LIMIT
    against = _AGAINST(found.findings)
    for finding, floor in zip(against, _FLOORS, strict=True) if any(against) else ():
        _, claim_floor, answer_floor, needed, name = floor
        if finding and found.covered >= needed:
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
        claim_adds, answer_adds = _nothing_found(found)
        return for_claim + claim_adds, for_answer + answer_adds, "not_covered"
    return for_claim, for_answer, "supported" if for_claim < 0 else "not_covered"


def _nothing_found(found: ClaimEvidence) -> tuple[float, float]:
    """What a claim of which little was found adds to its own doubt and to the answer's."""
    nothing = (found.features[0] - _NOTHING_FOUND) / (1 - _NOTHING_FOUND)
    size = min(1.0, len(found.piece.tokens) / _FULL_CLAIM)
    if found.findings.numbers_missing or len(found.piece.tokens) == 1:
        size = 1.0
    return _NOTHING_ADDS[0] * nothing * size, _NOTHING_ADDS[1] * nothing


def _strengthened(found: ClaimEvidence, doubt: float) -> float:
    """The doubt of a claim by how much it claims: all, never, a cause, or only perhaps.

    And by whether it denies what its best sentence, in other words, does not.
    """
    doubt += _ABSOLUTE_ADDS * min(2, found.findings.absolutes)
    doubt += _APART_ADDS * found.findings.negation_apart
    return _as_claims(doubt, found.findings.more) if found.findings.more else doubt


def _says_nothing(found: ClaimEvidence, doubt: float) -> tuple[float, float, str] | None:
    """What `settle` says of a claim without a word of its own, or that only talks to the judge."""
    if not (found.piece.terms or found.verbatim or any(len(t) > 1 for t in found.piece.tokens)):
        return max(doubt, _EMPTY), max(doubt, _EMPTY), "nothing_stated"
    beside = found.covered >= _MOSTLY_COVERED or found.findings.numbers_derived
    if found.piece.addressed and not beside:
        return max(doubt, _EMPTY), doubt + _NOTHING_ADDS[1], "injection_plea"
    return None


def _as_claims(doubt: float, more: float) -> float:
    """The doubt of a claim that counts as e^more claims of this doubt, all of which must hold."""
    held = softplus(doubt) * exp(more)
    return held if held > _LIMIT else log(max(1e-12, expm1(held)))


def _baseless(found: ClaimEvidence, reason: str) -> bool:
    """Whether an English claim rests on nothing: hardly a word of it, or a mere plea.

    Chinese says the same in other characters too often for this to tell.
    """
    if not found.piece.folded.isascii():
        return False
    return found.features[0] >= _BASELESS or reason == "injection_plea"


def _hopeless(found: ClaimEvidence, doubt: float, for_answer: float, reason: str) -> float:
    """How sure it is that nothing of a claim is supported.

    English: much of it stands nowhere, and the claim is in great doubt. A Chinese answer to a
    question: much of it stands nowhere, and it is short or in doubt; without a question, where
    other words often say the same, the doubt alone.
    """
    if reason == "nothing_stated":
        return 1.0
    nowhere = found.features[0] - 0.3
    if nowhere <= 0 and (found.asked or found.piece.folded.isascii()):
        return 0.0
    if found.piece.folded.isascii() or not has_han(found.span.text):
        return _share((doubt - 2) / 3) * _share(nowhere / 0.2)
    if found.asked:
        # Of a longer one, half of it there, other words may say the same: doubt decides.
        long = _share((len(found.piece.tokens) - _FEW_WORDS) / _FEW_WORDS)
        reworded = long * _share((0.6 - nowhere) / 0.2)
        return _share((nowhere - 0.2) / 0.3) * (1 - reworded * (1 - _share(for_answer / 2)))
    return _share((for_answer - 1.5) / 2)


def _share(value: float) -> float:
    return max(0.0, min(1.0, value))


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


def read_model(path: Path) -> Model:
    """The weights in a file, as `rag-monitor distil` writes it.

    Raises:
        ConfigurationError: The file is missing or cannot be used.
    """
    try:
        return Model(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"weights {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"weights {path} cannot be used ({type(error).__name__}: {error}); "
            f"learn them anew with: rag-monitor distil ROWS --output {path}"
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
