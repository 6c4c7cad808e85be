"""Does the answer answer the question? A few features and learnt weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from rag_monitor.judges.embedded.answer_type import answer_type
from rag_monitor.judges.embedded.combination import weights_for
from rag_monitor.judges.embedded.lexicon import WEIGHTS
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.answers import is_hedged
from rag_monitor.language.claims import AnswerParts
from rag_monitor.language.tokens import is_han

_EVASIVE: Final = re.compile(
    r"\bit depends\b|\bhard to say\b|\bnot sure\b|\buncertain\b|\bvaries\b|"
    r"\bmay or may not\b|\bconsult\b|看情况|视情况|不好说|说不准|不确定|因人而异|建议(?:您|"
    r"你)?咨询"
)
UNKNOWN: Final = 0.5
"""Of the features about a kind of answer where the question asks for another."""
ENOUGH: Final = 0.3
"""Weight of own words at which `brings` is one half: a third of a rare word."""
_RARER: Final = 1.5
"""Power of a background weight: rare words and names tell more."""
_FEW: Final = 2
"""Statements that are no padding whatever they say: a right answer may be in words of its own."""
_COVERED: Final = 0.35
"""Share of a statement in one sentence of the passages from which on it is about what they are."""
_BEGINNING: Final = 4
"""Letters that words of one root share."""


@dataclass(frozen=True, slots=True)
class AnswerStatement:
    """One statement of an answer."""

    segment: Segment
    covered: float = 0.0
    """Share of it that the passages hold in one sentence; 0 where none are known."""


def grade(
    question: Segment,
    statements: Sequence[AnswerStatement],
    parts: AnswerParts,
    features: Callable[[Sequence[AnswerStatement]], Sequence[float]],
) -> float:
    """How well the answer answers the question, 0 to 1; refusals grade 0.

    Args:
        question: What was asked.
        statements: Of the answer.
        parts: The answer taken apart.
        features: Works out the features of the statements: `answer_features`, or the same in
            context.
    """
    if parts.declines or not statements:
        return 0.0
    return weights_for(question.text or statements[0].segment.text).answer.probability(
        features(statements)
    )


def answer_features(
    question: Segment, statements: Sequence[AnswerStatement], manner: float
) -> list[float]:
    """The features of an answer, as `combination.ANSWER_FEATURES` names them, each 0 to 1.

    Of the statements that belong to the question: focus: share of the question's weight that they
    take up; brings: how much they say beyond it; own: which share that is, little in an echo;
    measured: as much where they tell a number or date of the kind asked for; worded: the same of
    what only words tell. to_the_point: the share of the answer's length that they are; commits: one
    less the probability that it is evasive.
    """
    expected = answer_type(question.text)
    stated = [expected.stated_by(one.segment) for one in statements]
    places = belonging(words(question), statements, stated)
    terms = frozenset().union(*[statements[place].segment.terms for place in places])
    weights = term_weights(question.terms)
    total = fsum(weights.values()) or 1.0
    taken_up = fsum([weights[term] for term in weights.keys() & terms])
    brought = fsum(term_weights(own_terms(terms, question.terms)).values())
    brings = brought / (brought + ENOUGH)
    own = brought / (brought + taken_up) if brought + taken_up else 0.0
    if all(expected.chosen_by(one.segment) for one in statements):
        brings = own = 1 - taken_up / total
    tells = own * any(stated)
    sizes = [max(1, len(one.segment.tokens)) for one in statements]
    return [
        taken_up / total,
        brings,
        own,
        tells if expected.measured else UNKNOWN * own,
        tells if expected.worded else UNKNOWN * own,
        sum(sizes[place] for place in places) / sum(sizes),
        1 - manner,
    ]


def term_weights(terms: frozenset[str]) -> dict[str, float]:
    """How much each term tells; pairs of Han characters count nothing beside their characters."""
    return {
        term: WEIGHTS[term] ** _RARER for term in terms if len(term) == 1 or not is_han(term[0])
    }


def own_terms(terms: frozenset[str], given: frozenset[str]) -> frozenset[str]:
    """Terms that are not of the question, nor begin as one of its words does (safe, safety)."""
    beginnings = {term[:_BEGINNING] for term in given if len(term) >= _BEGINNING}
    return frozenset(term for term in terms - given if term[:_BEGINNING] not in beginnings)


def words(segment: Segment) -> frozenset[str]:
    """Terms but single Han characters, which unrelated words share."""
    return frozenset([term for term in segment.terms if len(term) > 1 or term.isascii()])


def belonging(
    question_words: frozenset[str], statements: Sequence[AnswerStatement], stated: Sequence[bool]
) -> list[int]:
    """The places of the statements that belong to the question; the longest when none does.

    They take up a word of it, tell the kind of thing it asks for, stand in the passages, or share
    a word with one that does, and so on.
    """
    if len(statements) <= _FEW:
        return list(range(len(statements)))
    terms = [words(one.segment) for one in statements]
    apart = [
        place
        for place, (one, holds) in enumerate(zip(statements, stated, strict=True))
        if not holds and one.covered < _COVERED and terms[place].isdisjoint(question_words)
    ]
    subject = question_words.union(*[t for place, t in enumerate(terms) if place not in apart])
    while joined := [place for place in apart if not terms[place].isdisjoint(subject)]:
        subject = subject.union(*[terms[place] for place in joined])
        apart = [place for place in apart if place not in joined]
    together = [place for place in range(len(terms)) if place not in apart]
    return together or [max(range(len(terms)), key=lambda place: len(terms[place]))]


def noncommittal(answer: str, parts: AnswerParts) -> float:
    """Probability that the answer declines or stays evasive."""
    if parts.declines:
        return 0.97
    if not parts.claims:
        return 0.9
    folded = Segment(answer).folded
    if _EVASIVE.search(folded) and len(parts.claims) <= 2:
        return 0.7
    hedged = sum(is_hedged(Segment(claim.text).folded) for claim in parts.claims)
    share = (len(parts.refusals) + 0.3 * hedged) / (len(parts.claims) + len(parts.refusals))
    return min(0.45, 0.03 + 0.6 * share)
