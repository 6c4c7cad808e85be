"""Which sentences of the passages an encoder reads beside a claim: few, and those that matter."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Final

from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.normalise import to_simplified
from rag_monitor.language.replies import strip_opening
from rag_monitor.language.script import length

EVIDENCE_UNITS: Final = 420
"""Letters of evidence beside one claim, about 90 word pieces; a Han character counts four."""
_MOST_SENTENCES: Final = 4
_HAN_UNITS: Final = 4
_HELD_AGAIN: Final = 0.25
"""What a term counts that an earlier chosen sentence already holds."""
_LENGTH_COSTS: Final = 0.02
"""What each token of a sentence costs it."""
_LEAST_GAIN: Final = 0.3
_GIVEN: Final = 0.5
"""What a term of the question counts: the claim is about it, but does not rest on it alone."""
_NAMELESS: Final = 6
"""Claims of at most so many tokens are read together with their question."""


def units(text: str) -> int:
    """Size of a text in letters, a Han character counting as four."""
    return length(text, han=_HAN_UNITS)


def pack(claim: Piece, evidence: Evidence, budget: int = EVIDENCE_UNITS) -> list[Piece]:
    """The sentences that together hold most of a claim, in the order of the passages.

    Greedy by weight of the claim's terms, terms that are held already counting little. The first
    sentence is taken whatever its length; an encoder cuts it. Of short passages that share no term
    with the claim all is taken where there is no question.
    """
    left = {
        term: evidence.weights[term] * (_GIVEN if term in evidence.question.terms else 1.0)
        for term in claim.terms
    }
    places = evidence.places(claim.terms)
    candidates = {number for numbers in places.values() for number in numbers}
    if not candidates:
        return evidence.sentences if _all_there_is(evidence, budget) else []
    chosen: list[int] = []
    while candidates and len(chosen) < _MOST_SENTENCES:
        gain, best = max((_gain(evidence.sentences[n], left), -n) for n in candidates)
        number = -best
        if chosen and gain < _LEAST_GAIN:
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


def _all_there_is(evidence: Evidence, budget: int) -> bool:
    """Whether a statement that shares no word with the evidence may be about it all the same.

    Without a question it can be about nothing else; beside one it is more likely chatter.
    """
    size = sum(units(sentence.text) for sentence in evidence.sentences)
    return size <= budget and not evidence.question.terms


def _gain(sentence: Piece, left: dict[str, float]) -> float:
    # Exact, for sets are in another order in every process, and the encoder reads what weighs most.
    held = fsum([left[term] for term in sentence.terms & left.keys()])
    return held - _LENGTH_COSTS * min(60, len(sentence.tokens))


def reading(claim: Piece, evidence: Evidence) -> tuple[str, str]:
    """What an encoder reads of one claim: the claim, with its question when short, and evidence.

    Chinese in Simplified characters, of which small encoders know more.
    """
    chosen = pack(claim, evidence)
    first = strip_opening(claim.text)
    if len(claim.tokens) <= _NAMELESS and evidence.question.text:
        first = f"{evidence.question.text} {first}"
    return _legible(first), _legible(joined([piece.text for piece in chosen]))


def _legible(text: str) -> str:
    """Simplified, and without lone surrogates, which no tokenizer takes."""
    return to_simplified(text).encode("utf-8", "replace").decode("utf-8")


def joined(sentences: Sequence[str]) -> str:
    """Sentences as one text."""
    return " ".join(" ".join(sentence.split()) for sentence in sentences)
