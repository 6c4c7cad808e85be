"""Which numbers of an answer follow from what is known, one after the other."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.judges.embedded.arithmetic import converts, derives, is_constant
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.numbers import COUNTED, TIME, Quantity
from rag_monitor.language.periods import rates
from rag_monitor.language.units import UNIT

_MOST: Final = 48
"""Numbers of an answer that another may be derived from."""
_MOST_COUNTED: Final = 12
_SUPPOSED: Final = re.compile(
    r"假设|假定|举例|举个例子|为例"
    r"|\b(?:suppos(?:e|ing)|assum(?:e|ing)|for (?:example|instance), if)\b"
)


class Reckoning:
    """The numbers of one answer, and those of them that were explained so far."""

    def __init__(self, answer: Piece, evidence: Evidence) -> None:
        self._answer = answer
        self._evidence = evidence
        self._explained: list[Quantity] = []
        """In the order of the answer: the change that is left, and then what it is a share of."""

    def explains(self, quantity: Quantity, claim: Piece, best: Piece | None) -> bool:
        """Whether a number of `claim` is one of the passages in another unit, or follows.

        It follows from numbers of the question, and from those that the answer names and that
        stand in the passages or were explained before.
        """
        if quantity.kind == TIME:
            return _shifted(quantity, claim, best)
        if any(_alike(quantity, q) for q in self._explained):
            return True
        # Where the sentence has another number of the unit, one far away says nothing of this.
        contested = best is not None and _has_another(quantity, claim, best)
        found = any(
            converts(quantity, known)
            for known, piece in self._evidence.quantities
            if piece is best or not contested
        )
        found = found or (
            best is not None
            and (
                _between(quantity, claim, best)
                or _over_a_year(quantity, claim, best)
                or _said_in_words(quantity, best)
                or _apart(quantity, claim, best)
            )
        )
        operands, near = self._operands(quantity, claim), best.folded if best else ""
        found = found or derives(quantity, operands, claim.folded, near)
        if not found:
            counts = self._counts(quantity, claim)
            found = bool(counts) and derives(quantity, operands, claim.folded, near, counts)
            self._explained += counts if found else ()
        if found:
            self._explained.append(quantity)
        return found

    def supposes(self, quantity: Quantity, claim: Piece) -> bool:
        """Whether a statement only supposes a number, to reckon with it."""
        if not _SUPPOSED.search(claim.folded):
            return False
        self._explained.append(quantity)
        return True

    def _operands(self, quantity: Quantity, claim: Piece) -> list[Quantity]:
        """Numbers the answer names that are known, those of the claim first."""
        named = [q for q in claim.quantities[:_MOST] if q is not quantity]
        named += [
            q
            for q in self._answer.quantities[:_MOST]
            if not any(_alike(q, other) for other in [*named, quantity])
        ]
        evidence = self._evidence
        known = [q for q, _ in evidence.quantities] + list(evidence.question.quantities)
        found: list[Quantity] = []
        for candidate in named:
            source = next((q for q in known if candidate.equals(q)), None)
            if source is None and (
                is_constant(candidate) or any(_alike(candidate, q) for q in self._explained)
            ):
                source = candidate
            if source is not None and not any(_alike(source, other) for other in found):
                found.append(source)
        found += [q for q in evidence.question.quantities if not any(_alike(q, o) for o in found)]
        return found

    def _counts(self, quantity: Quantity, claim: Piece) -> list[Quantity]:
        """How many of something the statement reckons with, which it may say unasked."""
        return [
            q
            for q in claim.quantities[:_MOST]
            if q is not quantity
            and (not q.unit or q.unit in COUNTED)
            and 1 < q.value <= _MOST_COUNTED
        ]


def _has_another(quantity: Quantity, claim: Piece, best: Piece) -> bool:
    """Whether a sentence has a number of the same unit that the claim does not state."""
    return bool(quantity.unit) and any(
        (known.kind, known.unit) == (quantity.kind, quantity.unit)
        and not any(said.equals(known) for said in claim.quantities[:_MOST])
        for known in best.quantities
    )


def _said_in_words(quantity: Quantity, best: Piece) -> bool:
    """Whether its best sentence says it without a number: a day for 24 hours, half for 50%."""
    if quantity.kind == "percent" or (not quantity.unit and quantity.value < 1):
        share = quantity.value / 100 if quantity.kind == "percent" else quantity.value
        return share == _HALF_OF_IT and _HALF.search(best.folded) is not None
    ones = {UNIT[match[1]] for match in _ONE.finditer(best.folded)}
    return any(
        (quantity.unit == unit and quantity.value == 1) or converts(quantity, _single(unit))
        for unit in ones
    )


def _single(unit: str) -> Quantity:
    return Quantity(1.0, "number", unit, 1, 0, 0)


def _apart(quantity: Quantity, claim: Piece, best: Piece) -> bool:
    """Whether a comparison has two numbers or years of its best sentence as far apart as they are.

    Or one as many times the other.
    """
    if not _COMPARES.search(claim.folded):
        return False
    known = best.quantities[:_MOST]
    if quantity.unit == "time":
        alike = [(a, b) for a in known for b in known if (a.kind, a.unit) == (b.kind, b.unit)]
        return any(b.value and abs(a.value / b.value - quantity.value) < _CENT for a, b in alike)
    values = [q.value for q in known if (q.kind, q.unit) == (quantity.kind, quantity.unit)]
    if quantity.unit == "year":
        values += [float(d.year) for d in best.dates if d.year is not None]
    return any(abs(a - b - quantity.value) < _CENT for a in values for b in values)


def _times(claim: Piece, best: Piece | None) -> list[Quantity]:
    """Times of day that a statement and its best sentence name."""
    near = best.quantities if best else ()
    return [q for q in (*claim.quantities[:_MOST], *near[:_MOST]) if q.kind == TIME]


def _between(quantity: Quantity, claim: Piece, best: Piece) -> bool:
    """Whether it is as long as from one of the named times of day to another."""
    minutes = _minutes(quantity)
    if minutes is None:
        return False
    named = _times(claim, best)
    return any((b.value - a.value) % _DAY == minutes for a in named for b in named if a is not b)


def _over_a_year(quantity: Quantity, claim: Piece, best: Piece) -> bool:
    """Whether it is what the sentence says of a month, for the year that the claim speaks of."""
    return (
        _YEAR.search(claim.folded) is not None
        and "month" in rates(best.folded)
        and any(
            (quantity.kind, quantity.unit) == (known.kind, known.unit)
            and abs(quantity.value - _MONTHS * known.value) < _CENT
            for known in best.quantities
        )
    )


def _shifted(quantity: Quantity, claim: Piece, best: Piece | None) -> bool:
    """Whether a time of day is as long before or after a named one as is said."""
    near = best.quantities if best else ()
    spans = [_minutes(q) for q in (*claim.quantities[:_MOST], *near[:_MOST])]
    return any(
        (quantity.value - known.value) % _DAY in (span, _DAY - span)
        for known in _times(claim, best)
        if known is not quantity
        for span in spans
        if span
    )


def _minutes(quantity: Quantity) -> float | None:
    """How many minutes a number of hours or minutes is, if less than a day."""
    factor = _IN_MINUTES.get(quantity.unit)
    whole = factor * quantity.value if factor else 0.0
    return whole if 0 < whole < _DAY else None


_DAY: Final = 1440.0
_MONTHS: Final = 12
_CENT: Final = 0.005
_YEAR: Final = re.compile(r"\b(?:year|annual|yearly|annually|annum)\b|[一全每]年|年费|年度")
_HALF_OF_IT: Final = 0.5
_HALF: Final = re.compile(r"\bhal(?:f|ves|ved)\b|一半|减半|半价|半数")
_ONE: Final = re.compile(
    r"\b(?:an?|each|every|per|whole) (hour|day|fortnight|week|month|year|decade|minute|second"
    r"|kilo|litre|liter|metre|meter|mile|tonne|pound|dollar|euro)\b"
)
_COMPARES: Final = re.compile(
    r"\b(?:cheaper|dearer|more|less|fewer|longer|shorter|later|earlier|higher|lower|older|younger"
    r"|larger|smaller|bigger|faster|slower|heavier|lighter|wider|deeper|taller|extra|additional"
    r"|differ\w*|lead|gap|apart|between|after|before|sav\w+|rais\w+|ris\w+|rose|fall\w*|fell"
    r"|drop\w*|increas\w+|reduc\w+|grow\w*|grew|gain\w*|as (?:long|much|many|often|old|high))\b"
    r"|便宜|贵|多|少|长|短|晚|早|高|低|差|省|增|减|涨|降|升|倍|相隔|间隔|之间"
)
_IN_MINUTES: Final = {"hour": 60.0, "minute": 1.0}


def _alike(a: Quantity, b: Quantity) -> bool:
    return (a.value, a.kind, a.unit) == (b.value, b.kind, b.unit)
