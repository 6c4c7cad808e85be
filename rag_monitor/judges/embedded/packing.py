"""Which sentences of the passages an encoder reads beside a claim: few, and those that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.normalise import to_simplified
from rag_monitor.language.replies import strip_opening
from rag_monitor.language.script import length

_HAN_UNITS: Final = 4
_HELD_AGAIN: Final = 0.25
"""What a term counts that an earlier chosen sentence already holds."""
_LENGTH_COSTS: Final = 0.02
"""What each token of a sentence costs it."""
_GIVEN: Final = 0.5
"""What a term of the question counts: the claim is about it, but does not rest on it alone."""
_NAMELESS: Final = 6
"""Claims of at most so many tokens are read together with their question."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much evidence is read beside a claim."""

    units: int = 420
    """Letters, about 90 word pieces; a Han character counts four."""
    sentences: int = 4
    gain: float = 0.8
    """Least weight of terms, not yet held, that one sentence more must bring."""


LIMITS: Final = Limits()


def units(text: str) -> int:
    """Size of a text in letters, a Han character counting as four."""
    return length(text, han=_HAN_UNITS)


def pack(claim: Segment, evidence: EvidenceIndex, limits: Limits = LIMITS) -> list[Segment]:
    """The sentences that together hold most of a claim, in the order of the passages.

    Greedy by weight of the claim's terms, terms that are held already counting little. The first
    sentence is taken whatever its length; an encoder cuts it. Of short passages all is taken, for
    what contradicts a claim need not share its words; but a claim that shares none with them is
    likely chatter where there is a question.
    """
    left = {
        term: evidence.weights[term] * (_GIVEN if term in evidence.question.terms else 1.0)
        for term in claim.terms
    }
    places = evidence.places(claim.terms)
    candidates = {number for numbers in places.values() for number in numbers}
    if _short(evidence, limits) and (candidates or not evidence.question.terms):
        return evidence.sentences
    if not candidates:
        return []
    chosen: list[int] = []
    budget = limits.units
    while candidates and len(chosen) < limits.sentences:
        gain, best = max((_gain(evidence.sentences[n], left), -n) for n in candidates)
        number = -best
        if chosen and gain < limits.gain:
            break
        candidates.discard(number)
        size = units(evidence.sentences[number].text)
        if chosen and size > budget:
            continue
        budget -= size
        chosen.append(number)
        for term in evidence.sentences[number].terms & left.keys():
            left[term] *= _HELD_AGAIN
    return [evidence.sentences[number] for number in sorted(chosen)]


def _short(evidence: EvidenceIndex, limits: Limits) -> bool:
    """Whether all passages together are no longer than what is read beside a claim."""
    left = limits.units
    for sentence in evidence.sentences:
        left -= units(sentence.text)
        if left < 0:
            return False
    return True


def _gain(sentence: Segment, left: dict[str, float]) -> float:
    # Exact, for sets are in another order in every process, and the encoder reads what weighs most.
    held = fsum([left[term] for term in sentence.terms & left.keys()])
    return held - _LENGTH_COSTS * min(60, len(sentence.tokens))


def reading(claim: Segment, evidence: EvidenceIndex, limits: Limits = LIMITS) -> tuple[str, str]:
    """What an encoder reads of one claim: the claim, with its question when short, and evidence.

    Chinese in Simplified characters, of which small encoders know more.
    """
    chosen = pack(claim, evidence, limits)
    first = strip_opening(claim.text)
    if len(claim.tokens) <= _NAMELESS and evidence.question.text:
        first = f"{evidence.question.text} {first}"
    return legible(first), legible(joined([segment.text for segment in chosen]))


def legible(text: str) -> str:
    """Simplified, and without lone surrogates, which no tokenizer takes."""
    return to_simplified(text).encode("utf-8", "replace").decode("utf-8")


def joined(sentences: Sequence[str]) -> str:
    """Sentences as one text."""
    return " ".join(" ".join(sentence.split()) for sentence in sentences)
