"""How probably each passage is relevant to a question: a few features and learnt weights.

Nothing lowers a passage for holding more of the question, so no weight is negative.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from rag_monitor.judges.embedded.answer_type import answer_type
from rag_monitor.judges.embedded.combination import weights_for
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.in_context import Context
from rag_monitor.judges.embedded.segments import IndexedPassage, Segment
from rag_monitor.language.tokens import is_han

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


@dataclass(frozen=True, slots=True)
class Qualifier:
    """What narrows a question: a year, a place in a series, one of two opposites."""

    kind: str
    value: str
    text: str = ""
    """As the question spells it."""


def qualifiers_of(question: Segment, context: Context | None = None) -> list[Qualifier]:
    """What narrows a question: its years, and places in a series.

    Of the question that it continues those which it does not replace.
    """
    own = _qualifiers_in(question)
    if context is None:
        return own
    replaced = {qualifier.kind for qualifier in own}
    return own + [q for q in _qualifiers_in(context.continued) if q.kind not in replaced]


def _qualifiers_in(question: Segment) -> list[Qualifier]:
    qualifiers = [Qualifier("year", str(date.year)) for date in question.dates if date.year]
    words = _words(question.folded)
    for series in _ORDINALS:
        qualifiers.extend(Qualifier("series", word) for word in words if word in series)
    for pattern in _HAN_SERIES:
        qualifiers.extend(
            Qualifier(match[2], _SAME.get(match[1], match[1]), match[0][:2])
            for match in pattern.finditer(question.folded)
        )
    return qualifiers


def _words(folded: str) -> list[str]:
    return re.findall(r"[a-z]+", folded)


def conflict(qualifiers: Sequence[Qualifier], passage: IndexedPassage) -> str | None:
    """The first qualifier that the passage contradicts: it names another value and never this."""
    for qualifier in qualifiers:
        if qualifier.kind == "year":
            years = {str(d.year) for segment in passage.sentences for d in segment.dates if d.year}
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


def _other_member(qualifier: Qualifier, passage: IndexedPassage) -> bool:
    values = {
        _SAME.get(match[1], match[1])
        for pattern in _HAN_SERIES
        for match in pattern.finditer(passage.folded)
        if match[2] == qualifier.kind
    }
    return bool(values) and qualifier.value not in values


_ASKING_TEXT: Final = """
best way name list tell explain describe define mean meaning difference type kind number
amount purpose role long old big far often time place person reason thing
"""
_ASKING: Final = frozenset(_ASKING_TEXT.split())
"""Words that shape a question rather than name its subject."""
_NARROW: Final = 2.0
"""Weight of a year or a place in a series, which narrow a question most; a name has 1."""
_NO_WORD: Final = 0.3
"""Share of its weight that a pair of Han characters has which no passage holds: it is often no word
but two halves of neighbours."""
_ALONE: Final = 0.5
"""The same of a single Han character, which its pairs hold already."""
_RARER: Final = 1.5
"""Power of a background weight: rare words and names tell more."""
CONFLICT_CAP: Final = 0.3
"""Probability, at most, of a passage about another year or another member of a series
(`tests/unit/judges/embedded/test_worked_example.py`)."""
_UNKNOWN: Final = 0.5
"""Of features about numbers and dates where the question asks for neither."""


def relevance(
    evidence: EvidenceIndex, query: str, context: Context | None = None
) -> list[tuple[float, str | None]]:
    """Per passage: probability that it is relevant to `query`, and the conflict found if any.

    Args:
        evidence: The passages.
        query: What they were retrieved for.
        context: What it depends on; None: it stands alone.
    """
    question = Segment(query)
    qualifiers = qualifiers_of(question, context)
    learnt = weights_for(query).passage
    rated: list[tuple[float, str | None]] = []
    for passage, features in zip(
        evidence.passages, passage_features(evidence, question, qualifiers, context), strict=True
    ):
        probability = learnt.probability(features)
        clash = conflict(qualifiers, passage)
        rated.append((min(probability, CONFLICT_CAP) if clash else probability, clash))
    return rated


def passage_features(
    evidence: EvidenceIndex,
    question: Segment,
    qualifiers: Sequence[Qualifier],
    context: Context | None = None,
) -> list[list[float]]:
    """The features of every passage, as `combination.PASSAGE_FEATURES` names them, each 0 to 1.

    window: share of the question's weight that two neighbouring sentences hold; rare: share that
    the passage holds, a term counting less the more passages hold it; beside: what it holds, of
    what the best passage of the request does; measured: whether it tells a number or date of the
    kind asked for; measured_alone: the same, less the more passages do.
    """
    weights = query_weights(question, evidence, qualifiers, context)
    total = fsum(weights.values()) or 1.0
    rare = _rarities(weights, evidence.passages)
    all_rare = fsum(rare.values())
    kind = context.answer_type(question) if context else answer_type(question.text)
    stated = [kind.measured and kind.stated_in(passage) for passage in evidence.passages]
    whole = [_held(weights, passage.terms) / total for passage in evidence.passages]
    best = max(whole, default=0.0) or 1.0
    others = max(1, len(stated) - 1)
    features = []
    for passage, covered, holds in zip(evidence.passages, whole, stated, strict=True):
        alone = holds * (1 - (sum(stated) - holds) / others)
        features.append(
            [
                _window(weights, passage) / total,
                _held(rare, passage.terms) / all_rare if all_rare else covered,
                covered / best,
                float(holds) if kind.measured else _UNKNOWN,
                alone if kind.measured else _UNKNOWN,
            ]
        )
    return features


def query_weights(
    question: Segment,
    evidence: EvidenceIndex,
    qualifiers: Sequence[Qualifier] = (),
    context: Context | None = None,
) -> dict[str, float]:
    """Weight of each query term: rare words and names tell more, question words nothing."""

    def weigh(terms: frozenset[str]) -> dict[str, float]:
        return _query_weights(terms, evidence, qualifiers)

    own = weigh(question.terms)
    return own if context is None else context.weights(own, weigh)


def _query_weights(
    terms: frozenset[str], evidence: EvidenceIndex, qualifiers: Sequence[Qualifier]
) -> dict[str, float]:
    background = evidence.weights
    narrow = {value for q in qualifiers for value in (q.value, q.text)}
    weights = {}
    for term in terms - _ASKING:
        weight = background[term] ** _RARER
        if is_han(term[0]):
            if len(term) == 1:
                weight *= _ALONE
            elif term not in evidence.terms:
                weight *= _NO_WORD
        weights[term] = _NARROW if term in narrow else weight
    return weights


def _rarities(weights: Mapping[str, float], passages: Sequence[IndexedPassage]) -> dict[str, float]:
    """Weights of the terms that some but not all of the passages hold, less the more do."""
    rarities = {}
    for term, weight in weights.items():
        holders = sum(term in passage.terms for passage in passages)
        if 0 < holders < len(passages):
            rarities[term] = weight * (1 - holders / len(passages))
    return rarities


def _held(weights: Mapping[str, float], terms: frozenset[str]) -> float:
    # Exact, for sets are in another order in every process.
    return fsum([weights[term] for term in weights.keys() & terms])


def _window(weights: Mapping[str, float], passage: IndexedPassage) -> float:
    """Most weight that two neighbouring sentences hold."""
    sought = frozenset(weights) & passage.terms
    held = [sought & segment.terms for segment in passage.sentences]
    return max(
        (
            fsum([weights[term] for term in first.union(*held[place + 1 : place + 2])])
            for place, first in enumerate(held)
        ),
        default=0.0,
    )
