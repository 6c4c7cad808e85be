"""From features to probabilities: the learnt weights, for claims and for answers.

Everything adds up in log-odds of doubt. Weights of doubt features are never negative, so no text
can raise its score by matching less.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp, fsum, log1p, sqrt
from operator import mul
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.embedded.facts import Facts
from rag_monitor.judges.embedded.features import CLAIM_FEATURES, ClaimEvidence
from rag_monitor.language.script import has_han

EncoderLogits = tuple[float, float]
"""What an encoder says of a claim: log-odds of contradiction, and of missing support, against
support."""

_LIMIT: Final = 30.0
_VERBATIM: Final = -4.0
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
    read: EncoderLogits
    """Weights of what an encoder says; zeros without one."""
    unread: EncoderLogits
    """What stands for it where it did not read a claim: the mean over those it read."""
    slope: float
    """Calibration of a claim's log-odds: slope and shift."""
    shift: float
    pooling: str
    """How an answer's doubt is made of those of its claims, a name in `POOLINGS`."""
    answer_slope: float
    """Calibration of the doubt of an answer of several claims: slope and shift."""
    answer_shift: float
    threshold: float
    """`answer_supported` below this is flagged."""


class ClaimVerdict(NamedTuple):
    """How doubtful one claim is, and why."""

    logit_unsupported: float
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

    def claim(self, claim: ClaimEvidence, read: EncoderLogits | None = None) -> ClaimVerdict:
        """Judge one claim; `read` is what the encoder says, None where it was not asked."""
        return judge_claim(claim, read, self.weights(claim.span.text))

    def answer(self, verdicts: Sequence[ClaimVerdict], text: str) -> tuple[float, float]:
        """Probability that no claim is unsupported, and the log-odds that one is."""
        odds = calibrated_answer_logit(
            [verdict.logit_unsupported for verdict in verdicts], self.weights(text)
        )
        return 1 - sigmoid(odds), odds


def _weights(learnt: dict[str, Any]) -> Weights:
    own: dict[str, Any] = {name: learnt[name] for name in Weights.__slots__}
    for name, value in own.items():
        if isinstance(value, list):
            own[name] = tuple(map(float, value))
    if own["pooling"] not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}")
    return Weights(**own)


def judge_claim(claim: ClaimEvidence, read: EncoderLogits | None, weights: Weights) -> ClaimVerdict:
    """Judge one claim by the weights of its language."""
    parts = list(map(mul, claim.features, weights.claim))
    counted = counted_logits(weights.unread if read is None else read, claim.proven)
    from_encoder = tuple(map(mul, weights.read, counted))
    logit_unsupported, reason = apply_floors(claim, weights.bias + sum(parts) + sum(from_encoder))
    if not reason:
        reason = "supported" if logit_unsupported < 0 else _reason(claim.facts)
        if (
            reason == "not_covered"
            and read is not None
            and from_encoder[0] > max(from_encoder[1], *parts)
        ):
            reason = "contradiction"
    return ClaimVerdict(
        logit_unsupported, 1 - sigmoid(weights.slope * logit_unsupported + weights.shift), reason
    )


def counted_logits(read: EncoderLogits, proven: float) -> EncoderLogits:
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


def apply_floors(claim: ClaimEvidence, logit_unsupported: float) -> tuple[float, str]:
    """The doubt of a claim, and why, where no weighing decides; "" where it does."""
    if claim.agrees is not None:
        return (-_REPLIED, "supported") if claim.agrees else (_REPLIED, "contradiction")
    if not (claim.segment.terms or claim.verbatim or any(len(t) > 1 for t in claim.segment.tokens)):
        return max(logit_unsupported, _EMPTY), "nothing_stated"
    if claim.segment.addressed and claim.covered < _MOSTLY_COVERED:
        return max(logit_unsupported, _EMPTY), "injection_plea"
    if claim.verbatim:
        return min(logit_unsupported, _VERBATIM), "verbatim"
    if claim.passage is None:
        return max(logit_unsupported, _UNFOUND), ""
    if claim.features[_TWINS]:
        return max(logit_unsupported, _TWIN), ""
    return logit_unsupported, ""


def _reason(facts: Facts) -> str:
    """The exact fact that speaks against a claim in doubt, if one does."""
    reasons = {
        "number_mismatch": facts.numbers or (facts.moved and not facts.dates),
        "date_mismatch": facts.dates,
        "name_not_found": facts.names,
        "negation": facts.negation,
    }
    return next((reason for reason, speaks in reasons.items() if speaks), "not_covered")


def _norm(surprises: Sequence[float]) -> float:
    return sqrt(fsum(value * value for value in surprises))


def _mean(surprises: Sequence[float]) -> float:
    return fsum(surprises) / len(surprises)


POOLINGS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {"norm": _norm, "mean": _mean}
"""What of the surprises of an answer's claims makes its doubt. The norm lies between the greatest,
which forgets the others, and the sum, which doubts long answers for their length."""


def pooled_surprisal(logits: Sequence[float], pooling: str) -> float:
    """An answer's doubt, 0 or more, from the log-odds of doubt of its claims.

    Pools how surprising each claim would be as a supported one, -log P(supported).

    >>> [round(pooled_surprisal([0.0, 0.0], pooling), 3) for pooling in ("norm", "mean")]
    [0.98, 0.693]
    """
    return POOLINGS[pooling]([log1p(exp(-abs(logit))) + max(logit, 0.0) for logit in logits])


def calibrated_answer_logit(logits: Sequence[float], weights: Weights) -> float:
    """Calibrated log-odds that a claim is unsupported; of one claim alone they are its own."""
    if len(logits) == 1:
        return weights.slope * logits[0] + weights.shift
    return weights.answer_slope * pooled_surprisal(logits, weights.pooling) + weights.answer_shift


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
