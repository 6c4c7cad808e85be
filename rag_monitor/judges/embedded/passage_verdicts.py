"""Verdicts about passages and key points beside an answer: useful, used, covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Final

from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.features import ClaimEvidence
from rag_monitor.judges.embedded.model import sigmoid
from rag_monitor.judges.embedded.segments import IndexedPassage, Segment
from rag_monitor.language.tokens import is_content

_USED_GAIN: Final = 0.2
_HELD: Final = 0.55


def use(
    evidence: EvidenceIndex, claims: Sequence[ClaimEvidence], supported: Sequence[float]
) -> list[float]:
    """Per passage: probability that the answer drew on it.

    Claims are explained by as few passages as possible: a passage counts by what it holds of a
    claim's own words (those the question did not give) beyond the passages already counted.
    """
    shares = [0.0] * len(evidence.passages)
    for claim, probability in zip(claims, supported, strict=True):
        for index, gain in _explaining(claim, evidence):
            shares[index] = max(shares[index], gain * (0.5 + 0.5 * probability))
    return [sigmoid(14 * (share - _USED_GAIN - 0.1)) for share in shares]


def _explaining(claim: ClaimEvidence, evidence: EvidenceIndex) -> list[tuple[int, float]]:
    """Passages in the order they explain a claim, with what each adds."""
    if claim.passage is None:
        return []
    own = claim.own
    total = fsum(own.values())
    if not total:
        return [(claim.passage, 1.0 if claim.covered else 0.0)]
    left = dict(own)
    explaining: list[tuple[int, float]] = []
    others = (i for i in range(len(evidence.passages)) if i != claim.passage)
    order = [claim.passage, *others]
    first = True
    while left:
        # Rounded, for which of two equals is taken must not hang on the last bit of a sum.
        gains = {
            index: round(_weight_in(evidence.passages[index], left) / total, 9)
            for index in order
            if index not in dict(explaining)
        }
        if not gains:
            break
        index = max(gains, key=lambda i: (gains[i] + (0.1 if i == claim.passage else 0.0), -i))
        if gains[index] < (0.05 if first else _USED_GAIN):
            break
        first = False
        explaining.append((index, gains[index]))
        left = {t: w for t, w in left.items() if t not in evidence.passages[index].terms}
    return explaining


def _weight_in(passage: IndexedPassage, weights: Mapping[str, float]) -> float:
    return fsum([weight for term, weight in weights.items() if term in passage.terms])


def coverage(point: str, evidence: EvidenceIndex) -> tuple[float, int | None]:
    """Probability that some passage covers a key point, and which.

    Short points are labels (2024年, 首套房): all of their characters or words must stand in one
    sentence. Numbers and dates must agree.
    """
    segment = Segment(point)
    units = _point_units(segment)
    best, where = 0.0, None
    for index, passage in enumerate(evidence.passages):
        if units:
            share = max(
                (_unit_share(units, sentence) for sentence in passage.sentences), default=0.0
            )
            together = sum(unit in passage.terms for unit in units) / len(units)
            share = max(share, 0.9 * together)
        else:
            share = float(bool(segment.folded.strip()) and segment.folded.strip() in passage.folded)
        share *= _facts_agree(segment, passage)
        if share > best:
            best, where = share, index
    return sigmoid(12 * (best - 0.68)), where


def _point_units(segment: Segment) -> list[str]:
    """Content words, or single Han characters: a label may stand in another order."""
    return [token for token in segment.tokens if is_content(token)]


def _unit_share(units: Sequence[str], sentence: Segment) -> float:
    return sum(unit in sentence.terms for unit in units) / len(units)


def _facts_agree(segment: Segment, passage: IndexedPassage) -> float:
    """1 when the point's numbers and dates stand in the passage, else a third."""
    dates = [d for sentence in passage.sentences for d in sentence.dates]
    numbers = [q for sentence in passage.sentences for q in sentence.quantities]
    for date in segment.dates:
        if not date.supported_by(dates):
            return 1 / 3
    for quantity in segment.quantities:
        if not any(quantity.equals(q) for q in numbers):
            return 1 / 3
    return 1.0


def usefulness(
    evidence: EvidenceIndex,
    claims: Sequence[ClaimEvidence],
    supported: Sequence[float],
    relevant: Sequence[float],
    used: Sequence[float],
) -> list[float]:
    """Per passage: probability that it helped in arriving at the answer.

    It was drawn on, or holds most of what a claim says just as well as the passage that was (a
    second source is useful too), and it is on the subject.
    """
    probabilities = []
    for passage, on_subject, drawn_on in zip(evidence.passages, relevant, used, strict=True):
        held = max(
            (
                _held(claim, passage) * (0.5 + 0.5 * probability)
                for claim, probability in zip(claims, supported, strict=True)
            ),
            default=0.0,
        )
        helped = max(drawn_on, sigmoid(14 * (held - _HELD)))
        probabilities.append(min(1.0, helped * (0.4 + 0.6 * on_subject) + 0.1 * on_subject))
    return probabilities


def _held(claim: ClaimEvidence, passage: IndexedPassage) -> float:
    """Share of a claim's own weight that one passage holds."""
    total = fsum(claim.own.values())
    return _weight_in(passage, claim.own) / total if total else 0.0
