"""How probably the contexts hold what a complete answer to a question needs.

A few features by words, what an encoder says where there is one (`sufficiency_reading.py`), and
learnt weights, as for relevance: nothing makes contexts less sufficient for holding more, so no
weight is negative. What a passage about another year or another member of a series holds does not
count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple

from rag_monitor.judges.embedded.answer_type import AnswerType, answer_type
from rag_monitor.judges.embedded.combination import sufficiency_weights
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.in_context import Context
from rag_monitor.judges.embedded.relevance import (
    CONFLICT_CAP,
    conflict,
    qualifiers_of,
    query_weights,
)
from rag_monitor.judges.embedded.segments import IndexedPassage, Segment
from rag_monitor.judges.embedded.sufficiency_reading import SufficiencyReader

_WINDOW: Final = 3
"""Neighbouring sentences in which the words of a question and its answer should stand."""
_REACH: Final = 3
"""How many words may stand from one to another that stand together."""
_PAIR: Final = 2
_UNKNOWN: Final = 0.5
"""Of features that a question says nothing of."""


class Sufficiency(NamedTuple):
    """How probably contexts suffice."""

    probability: float
    passage: int | None
    """0-based: the one that holds most; None: none holds anything."""
    reason: str | None
    """Why no passage counts: `year_mismatch`, `series_mismatch`."""


def sufficiency(
    evidence: EvidenceIndex,
    query: str,
    context: Context | None = None,
    reader: SufficiencyReader | None = None,
) -> Sufficiency:
    """Whether the passages hold what a complete answer to `query` needs; 0 without passages.

    Args:
        evidence: The passages.
        query: What they were retrieved for.
        context: What it depends on; None: it stands alone.
        reader: Reads a question that stands alone beside the passages; None: by words alone.
    """
    if not evidence.passages:
        return Sufficiency(0.0, None, None)
    question = Segment(query)
    qualifiers = qualifiers_of(question, context)
    clashes = [conflict(qualifiers, passage) for passage in evidence.passages]
    counted = [n for n, clash in enumerate(clashes) if clash is None]
    places = counted or range(len(clashes))
    features, best = sufficiency_features(evidence, question, places, context)
    if reader and not context:
        probability = reader.probability(evidence, question, places, features)
    else:
        probability = sufficiency_weights(query).probability(features)
    if counted:
        return Sufficiency(probability, best, None)
    return Sufficiency(min(probability, CONFLICT_CAP), best, clashes[0])


def sufficiency_features(
    evidence: EvidenceIndex,
    question: Segment,
    places: Sequence[int],
    context: Context | None = None,
) -> tuple[list[float], int | None]:
    """The features, as `combination.SUFFICIENCY_FEATURES` names them, and the best passage.

    window: share of the question's weight that neighbouring sentences hold; stated: the same where
    these sentences hold what kind of thing is asked for; beside: share of the question's pairs of
    neighbouring words that stand together in a passage; together: share of the weight that all
    passages hold. Each is 0 to 1, and of the first three the most that any passage gives.

    Args:
        evidence: The passages.
        question: What is asked.
        places: Which of the passages count.
        context: What it depends on.
    """
    weights = query_weights(question, evidence, qualifiers_of(question, context), context)
    total = fsum(weights.values()) or 1.0
    kind = context.answer_type(question) if context else answer_type(question.text)
    pairs = _pairs(question) | (_pairs(context.continued) if context else frozenset())
    sought = frozenset(weights)
    window = stated = 0.0
    beside = 0.0 if pairs else _UNKNOWN
    where = None
    for place in places:
        passage = evidence.passages[place]
        if pairs:
            beside = max(beside, _together(pairs, passage.sentences) / len(pairs))
        if _weight(weights, sought & passage.terms) / total <= min(window, stated):
            continue  # none of its windows can hold more
        held = _windows(passage, sought, weights, total)
        most = max(held, default=0.0)
        if most > window:
            window, where = most, place
        if most > stated:
            stated = max(stated, _stated(kind, passage.sentences, held, stated))
    every = frozenset[str]().union(*[sought & evidence.passages[place].terms for place in places])
    return [window, stated, beside, _weight(weights, every) / total], where


def _pairs(question: Segment) -> frozenset[tuple[str, str]]:
    """Its pairs of neighbouring words."""
    return frozenset(zip(question.content, question.content[1:], strict=False))


def _windows(
    passage: IndexedPassage, sought: frozenset[str], weights: Mapping[str, float], total: float
) -> list[float]:
    """Share of the weight that the sentences from each one on hold."""
    terms = [sought & sentence.terms for sentence in passage.sentences]
    held: dict[frozenset[str], float] = {}
    shares = []
    for place, first in enumerate(terms):
        window = first.union(*terms[place + 1 : place + _WINDOW])
        if window not in held:
            held[window] = _weight(weights, window) / total
        shares.append(held[window])
    return shares


def _weight(weights: Mapping[str, float], terms: frozenset[str]) -> float:
    # Exact, for sets are in another order in every process.
    return fsum([weights[term] for term in terms])


def _stated(
    kind: AnswerType, sentences: Sequence[Segment], held: Sequence[float], least: float
) -> float:
    """The most, above `least`, that a window holds in which what is asked for is stated."""
    if not (kind.measured or kind.worded):
        return _UNKNOWN * max(held, default=0.0)
    looked: dict[int, bool] = {}
    for place in sorted(range(len(held)), key=lambda n: -held[n]):
        if held[place] <= least:
            break
        for number in range(place, min(place + _WINDOW, len(sentences))):
            if number not in looked:
                looked[number] = kind.stated_by(sentences[number])
            if looked[number]:
                return held[place]
    return 0.0


def _together(pairs: frozenset[tuple[str, str]], sentences: Sequence[Segment]) -> int:
    """How many of the pairs stand together in a sentence, in either order."""
    left = set(pairs)
    wanted = frozenset(word for pair in pairs for word in pair)
    for sentence in sentences:
        words = wanted & sentence.token_set
        if len(words) < _PAIR:
            continue
        here = [pair for pair in left if pair[0] in words and pair[1] in words]
        if here:
            left.difference_update(_near(here, sentence.content))
    return len(pairs) - len(left)


def _near(pairs: Sequence[tuple[str, str]], words: Sequence[str]) -> Iterator[tuple[str, str]]:
    wanted = frozenset(word for pair in pairs for word in pair)
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        if word in wanted:
            places.setdefault(word, []).append(place)
    for first, second in pairs:
        if any(abs(a - b) <= _REACH for a in places[first] for b in places[second]):
            yield first, second
