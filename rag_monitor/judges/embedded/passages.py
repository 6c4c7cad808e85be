"""Verdicts about passages and key points: relevant, useful, used, covered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.features import ClaimEvidence
from rag_monitor.judges.embedded.model import sigmoid
from rag_monitor.judges.embedded.pieces import Passage, Piece
from rag_monitor.language.polarity import HAN_OPPOSITES, OPPOSITES
from rag_monitor.language.tokens import is_content, is_han

_ASKING_TEXT: Final = """
best way name list tell explain describe define mean meaning difference type kind number
amount purpose role long old big far often time place person reason thing
"""
_ASKING: Final = frozenset(_ASKING_TEXT.split())
"""Words that shape a question rather than name its subject."""
_ORDINALS: Final = tuple(
    frozenset(group.split())
    for group in (
        "first second third fourth fifth sixth seventh eighth ninth tenth",
        "primary secondary tertiary",
        "spring summer autumn winter",
        "monday tuesday wednesday thursday friday saturday sunday",
        "basic standard premium enterprise",
        "bronze silver gold platinum",
    )
)
_HAN_SERIES: Final = (
    re.compile(r"([首一二两三四五六七八九十]+)(套|期|季|届|类|级|代|号|年级|等奖|胎|孩|线)"),
    re.compile(r"第([一二三四五六七八九十百\d]+)(个?[季届章条款期次代批集名号])"),
)
_SAME: Final = {"首": "一", "两": "二"}
_NARROW: Final = 2.0
_NO_WORD: Final = 0.3
_CONFLICT_CAP: Final = 0.3
_RELEVANT_AT: Final = 0.5
_STEEPNESS: Final = 8.0
_USED_GAIN: Final = 0.2
_HELD: Final = 0.55
_WHOLLY: Final = 4
"""Power that leaves little of a passage which holds a part of a short answer."""


@dataclass(frozen=True, slots=True)
class Qualifier:
    """What narrows a question: a year, a place in a series, one of two opposites."""

    kind: str
    value: str
    text: str = ""
    """As the question spells it."""


def relevance(evidence: Evidence, query: str) -> list[tuple[float, str | None]]:
    """Per passage: probability that it is relevant to `query`, and the conflict found if any.

    The share of the query's weight that the passage holds; a passage about another year, another
    member of a series or the opposite of what was asked is not relevant.
    """
    asked = Piece(query)
    qualifiers = _qualifiers(asked)
    weights = _query_weights(asked, evidence, qualifiers)
    total = fsum(weights.values())
    found: list[tuple[float, str | None]] = []
    for passage in evidence.passages:
        covered = _covered(weights, passage) / total if total else 0.0
        probability = sigmoid(_STEEPNESS * (covered - _RELEVANT_AT))
        conflict = _conflict(qualifiers, passage)
        if conflict:
            probability = min(probability, _CONFLICT_CAP)
        found.append((probability, conflict))
    return found


def _query_weights(
    asked: Piece, evidence: Evidence, qualifiers: Sequence[Qualifier]
) -> dict[str, float]:
    """Weight of each query term: rare words and names tell more, question words nothing.

    Years and places in a series narrow the question most. A Han pair that no passage holds is
    often no word at all but two halves of neighbours, so it counts little.
    """
    background = evidence.weights
    narrow = {value for q in qualifiers for value in (q.value, q.text)}
    weights = {}
    for term in asked.terms - _ASKING:
        weight = background[term] ** 1.5
        if is_han(term[0]):
            weight *= 0.5 if len(term) == 1 else (1.0 if term in evidence.terms else _NO_WORD)
        weights[term] = _NARROW if term in narrow else weight
    return weights


def _covered(weights: Mapping[str, float], passage: Passage) -> float:
    """Query weight held by the passage, its best sentence counting half."""
    if not passage.sentences:
        return 0.0
    whole = _weight_in(passage, weights)
    best = max(
        fsum([w for term, w in weights.items() if term in piece.terms])
        for piece in passage.sentences
    )
    return 0.7 * whole + 0.3 * best


def _qualifiers(asked: Piece) -> list[Qualifier]:
    found = [Qualifier("year", str(date.year)) for date in asked.dates if date.year]
    for series in _ORDINALS:
        found.extend(Qualifier("series", t) for t in _words(asked.folded) if t in series)
    for pattern in _HAN_SERIES:
        found.extend(
            Qualifier(match[2], _SAME.get(match[1], match[1]), match[0][:2])
            for match in pattern.finditer(asked.folded)
        )
    return found


def _words(folded: str) -> list[str]:
    return re.findall(r"[a-z]+", folded)


def _conflict(qualifiers: Sequence[Qualifier], passage: Passage) -> str | None:
    """The first qualifier that the passage contradicts: it names another value and never this."""
    for qualifier in qualifiers:
        if qualifier.kind == "year":
            years = {str(d.year) for piece in passage.sentences for d in piece.dates if d.year}
            if years and qualifier.value not in years:
                return "year_mismatch"
        elif qualifier.kind == "series":
            series = next(s for s in _ORDINALS if qualifier.value in s)
            words = set(_words(passage.folded))
            if qualifier.value not in words and words & (series - {qualifier.value}):
                return "series_mismatch"
        elif _other_member(qualifier, passage):
            return "series_mismatch"
    return None


def _other_member(qualifier: Qualifier, passage: Passage) -> bool:
    values = {
        _SAME.get(match[1], match[1])
        for pattern in _HAN_SERIES
        for match in pattern.finditer(passage.folded)
        if match[2] == qualifier.kind
    }
    return bool(values) and qualifier.value not in values


def use(
    evidence: Evidence, claims: Sequence[ClaimEvidence], supported: Sequence[float]
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


def _explaining(claim: ClaimEvidence, evidence: Evidence) -> list[tuple[int, float]]:
    """Passages in the order they explain a claim, with what each adds."""
    if claim.passage is None:
        return []
    own = claim.own
    total = fsum(own.values())
    if not total:
        return [(claim.passage, 1.0 if claim.covered else 0.0)]
    left = dict(own)
    found: list[tuple[int, float]] = []
    others = (i for i in range(len(evidence.passages)) if i != claim.passage)
    order = [claim.passage, *others]
    first = True
    while left:
        # Rounded, for which of two equals is taken must not hang on the last bit of a sum.
        gains = {
            index: round(_weight_in(evidence.passages[index], left) / total, 9)
            for index in order
            if index not in dict(found)
        }
        if not gains:
            break
        index = max(gains, key=lambda i: (gains[i] + (0.1 if i == claim.passage else 0.0), -i))
        if gains[index] < (0.05 if first else _USED_GAIN):
            break
        first = False
        found.append((index, gains[index]))
        left = {t: w for t, w in left.items() if t not in evidence.passages[index].terms}
    return found


def _weight_in(passage: Passage, weights: Mapping[str, float]) -> float:
    return fsum([weight for term, weight in weights.items() if term in passage.terms])


def coverage(point: str, evidence: Evidence) -> tuple[float, int | None]:
    """Probability that some passage covers a key point, and which.

    Short points are labels (2024年, 首套房): all of their characters or words must stand in one
    sentence. Numbers and dates must agree.
    """
    piece = Piece(point)
    units = _point_units(piece)
    best, where = 0.0, None
    for index, passage in enumerate(evidence.passages):
        if units:
            share = max(
                (_unit_share(units, sentence) for sentence in passage.sentences), default=0.0
            )
            together = sum(unit in passage.terms for unit in units) / len(units)
            share = max(share, 0.9 * together)
        else:
            share = float(bool(piece.folded.strip()) and piece.folded.strip() in passage.folded)
        share *= _facts_agree(piece, passage)
        if share > best:
            best, where = share, index
    return sigmoid(12 * (best - 0.68)), where


def _point_units(piece: Piece) -> list[str]:
    """Content words, or single Han characters: a label may stand in another order."""
    return [token for token in piece.tokens if is_content(token)]


def _unit_share(units: Sequence[str], sentence: Piece) -> float:
    return sum(unit in sentence.terms for unit in units) / len(units)


def _facts_agree(piece: Piece, passage: Passage) -> float:
    """1 when the point's numbers and dates stand in the passage, else a third."""
    dates = [d for sentence in passage.sentences for d in sentence.dates]
    numbers = [q for sentence in passage.sentences for q in sentence.quantities]
    for date in piece.dates:
        if not date.supported_by(dates):
            return 1 / 3
    for quantity in piece.quantities:
        if not any(quantity.equals(q) for q in numbers):
            return 1 / 3
    opposed = any(
        OPPOSITES.get(token, frozenset()) & passage.terms and token not in passage.terms
        for token in piece.tokens
    )
    opposed = opposed or any(
        (a in piece.folded and b in passage.folded and a not in passage.folded and len(a) > 1)
        or (b in piece.folded and a in passage.folded and b not in passage.folded and len(b) > 1)
        for a, b in HAN_OPPOSITES
    )
    return 0.5 if opposed else 1.0


def usefulness(
    evidence: Evidence,
    claims: Sequence[ClaimEvidence],
    supported: Sequence[float],
    relevant: Sequence[float],
    used: Sequence[float],
) -> list[float]:
    """Per passage: probability that it helped in arriving at the answer.

    It was drawn on, or holds most of what a claim says just as well as the passage that was (a
    second source is useful too), and it is on the subject.
    """
    found = []
    for passage, on_subject, drawn_on in zip(evidence.passages, relevant, used, strict=True):
        held = max(
            (
                _held(claim, passage) * (0.5 + 0.5 * probability)
                for claim, probability in zip(claims, supported, strict=True)
            ),
            default=0.0,
        )
        helped = max(drawn_on, sigmoid(14 * (held - _HELD)))
        found.append(min(1.0, helped * (0.4 + 0.6 * on_subject) + 0.1 * on_subject))
    return found


def borne_out(
    evidence: Evidence,
    claims: Sequence[ClaimEvidence],
    supported: Sequence[float],
    relevant: Sequence[tuple[float, str | None]],
) -> float:
    """How far claims are supported by passages that are on the question's subject, 0 to 1.

    A short answer stands in several passages at times: what counts is the most relevant of those.
    """
    found = [
        probability
        * max(
            on_subject * (1.0 if index == claim.passage else _held(claim, passage) ** _WHOLLY)
            for index, (passage, (on_subject, _)) in enumerate(
                zip(evidence.passages, relevant, strict=True)
            )
        )
        for claim, probability in zip(claims, supported, strict=True)
        if claim.passage is not None
    ]
    return sum(found) / len(claims) if claims else 0.0


def _held(claim: ClaimEvidence, passage: Passage) -> float:
    """Share of a claim's own weight that one passage holds."""
    total = fsum(claim.own.values())
    return _weight_in(passage, claim.own) / total if total else 0.0
