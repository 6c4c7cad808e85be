"""Which numbers of an answer follow from what is known, one after the other."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.judges.embedded.arithmetic import converts, derives, is_constant
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.numbers import COUNTED, TIME, Quantity

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
            return False
        if any(_alike(quantity, q) for q in self._explained):
            return True
        found = any(converts(quantity, known) for known, _ in self._evidence.quantities)
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


def _alike(a: Quantity, b: Quantity) -> bool:
    return (a.value, a.kind, a.unit) == (b.value, b.kind, b.unit)
