"""What a statement says exactly: numbers, dates, addresses, names and denials."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.number_derivation import NumberDerivation, is_constant
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.entities import capitalised_words, quoted
from rag_monitor.language.normalise import fold
from rag_monitor.language.stems import stem

_MOST_FACTS: Final = 24
"""Numbers, and dates, of one statement that are looked up; a row of a table may hold hundreds."""
_MOST_COUNTED: Final = 3
"""More names that stand nowhere tell no more than so many."""
_NEAR: Final = 0.6
"""Share of a statement that its best sentence must hold for a difference in negation to count."""
_LITERAL: Final = re.compile(r"\bhttps?://[^\s,;，。]+[\w/]|(?<![\d.])\d+(?:\.\d+){2,}(?!\.?\d)")
"""Addresses and versions, which are said to the letter or wrong."""


class Facts(NamedTuple):
    """What the passages hold of a statement's exact facts."""

    numbers: int = 0
    """Numbers, addresses and versions that neither stand in passages and question nor follow."""
    dates: int = 0
    """Dates that stand in neither."""
    moved: bool = False
    """Whether a number or a date stands in the passages, but the sentence the statement rests on
    has another one of the sort in its place."""
    names: int = 0
    """Capitalised words, and quotations, within the statement that stand nowhere."""
    negation: bool = False
    """Whether it denies and the sentence it rests on does not, or the other way round."""
    proven: bool = False
    """Whether it states numbers or dates, and the sentence it rests on states each of them, in
    this or another form, or they follow."""
    derived: bool = False
    """Whether a number follows from others by an operation that the statement names."""

    @property
    def wrong(self) -> bool:
        """Whether a number or a date is not what the passages say."""
        return bool(self.numbers or self.dates or self.moved)

    @property
    def differs(self) -> bool:
        """Whether any fact is another one than in the passages."""
        return bool(self.wrong or self.names or self.negation)


class _Numbers(NamedTuple):
    missing: int
    """That stand nowhere and do not follow."""
    elsewhere: int
    """That the best sentence does not state and that do not follow, `missing` ones included."""
    moved: bool
    derived: bool


def look_up_facts(
    claim: Segment,
    evidence: EvidenceIndex,
    unknown: frozenset[str],
    best: Segment | None,
    covered: float,
    derivation: NumberDerivation,
) -> Facts:
    """Look up every exact fact of `claim`.

    Args:
        claim: The statement.
        evidence: The passages and the question.
        unknown: Those of its terms that stand in neither.
        best: The sentence that covers most of the statement.
        covered: Share of the statement that it holds.
        derivation: Numbers of the answer that follow from others, so far.
    """
    numbers = _numbers(claim, evidence, best, derivation)
    dates = _dates(claim, evidence)
    moved = _dates_moved(claim, best, evidence.question) if best else False
    stated = bool(claim.quantities or claim.dates)
    return Facts(
        numbers=numbers.missing,
        dates=dates,
        moved=numbers.moved or moved,
        names=_names(claim, evidence, unknown),
        negation=best is not None and covered >= _NEAR and claim.denies != best.denies,
        proven=stated and not (numbers.elsewhere or dates or moved),
        derived=numbers.derived,
    )


def _numbers(
    claim: Segment, evidence: EvidenceIndex, best: Segment | None, derivation: NumberDerivation
) -> _Numbers:
    missing = sum(text not in evidence.joined for text in _LITERAL.findall(claim.folded))
    elsewhere, moved, derived = missing, False, False
    others = _others(claim, best) if best else frozenset()
    for quantity in claim.quantities[:_MOST_FACTS]:
        if any(map(quantity.equals, evidence.question.quantities)):
            continue
        stated_in = evidence.equal(quantity)
        if stated_in:
            if not any(segment is best for segment in stated_in):
                elsewhere += 1
                moved = moved or (quantity.kind, quantity.unit) in others
            continue
        if quantity.value in (0, 1) and not quantity.unit:  # one of them, no longer
            continue
        if is_constant(quantity) and len(claim.quantities) > 1:  # another is computed with it
            continue
        if derivation.derives(quantity, claim, evidence.beside(best)):
            derived = True
        else:
            missing += 1
            elsewhere += 1
    return _Numbers(missing, elsewhere, moved, derived)


def _others(claim: Segment, best: Segment) -> frozenset[tuple[str, str]]:
    """Kind and unit of the numbers of a sentence that a statement does not have."""
    return frozenset(
        (stated.kind, stated.unit)
        for stated in best.quantities
        if not any(map(stated.equals, claim.quantities))
    )


def _dates(claim: Segment, evidence: EvidenceIndex) -> int:
    if not claim.dates:
        return 0
    supporting = [*(date for date, _ in evidence.dates), *evidence.question.dates]
    return sum(not date.supported_by(supporting) for date in claim.dates[:_MOST_FACTS])


def _dates_moved(claim: Segment, best: Segment, question: Segment) -> bool:
    supporting = [*best.dates, *question.dates]
    return any(not date.supported_by(claim.dates) for date in best.dates) and any(
        not date.supported_by(supporting) for date in claim.dates[:_MOST_FACTS]
    )


def _names(claim: Segment, evidence: EvidenceIndex, unknown: frozenset[str]) -> int:
    """Names that stand nowhere; of a word that opens the statement a capital says too little."""
    missing = sum(
        not first and stem(word) in unknown and word not in evidence.joined
        for word, first in capitalised_words(claim.text)
    )
    for text in quoted(claim.text):
        folded = fold(text)
        missing += folded not in evidence.joined and folded not in evidence.question.folded
    return min(missing, _MOST_COUNTED)
