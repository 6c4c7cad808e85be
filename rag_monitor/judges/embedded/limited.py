"""Numbers that a limit of the passages covers, and limits that a statement turns round."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.opposed import repeats
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.bounds import bound, limits
from rag_monitor.language.numbers import Quantity

_OUTCOME: Final = re.compile(
    r"\b(?:is|are|was|were|be|been|costs?|pays?|paid|takes?|took|lasts?|lasted|charge[sd]?|gets?"
    r"|(?:comes?|amounts?|adds? up) to|receives?|has|have|had|needs?|saves?|total(?:s|led|ing)?"
    r"|reach(?:es|ed)?|gives?|gave|earns?|of)"
    r"(?:\s(?:\w+ly|only|just|about|around|some|the|a|an))?\s?(?:[$£€¥])?\s?$"
    r"|(?:[是为需收付赔返退扣共]|等于)[了约]?¥?\s?$"
)
"""Before a number that a statement tells, and does not suppose."""
_REACH: Final = 40
_REPEATED: Final = 0.5
"""Share of a statement's words that the sentence of the limit must hold."""

_BEYOND: Final = re.compile(r"\b(?:or|otherwise|anything|else|any)\b|逾期|否则|除外|其余|其他")
"""Where a sentence says what holds beyond its limit, too."""


def within_limit(quantity: Quantity, claim: Piece, best: Piece | None) -> bool:
    """Whether a number is an instance of what its best sentence says of all beyond a limit.

    "A five-hour booking needs approval" beside "bookings over four hours do". It must be no limit
    itself, and nothing that the statement tells ("costs €6").
    """
    if best is None or not best.quantities or bound(claim.folded, quantity):
        return False
    if _OUTCOME.search(claim.folded[max(0, quantity.start - _REACH) : quantity.start]):
        return False
    return any(
        (known.kind, known.unit) == (quantity.kind, quantity.unit)
        for known in limits(best.folded, best.quantities)
    )


def limit_turned(claim: Piece, evidence: Evidence) -> int:
    """Whether a limit of the passages is stated as its contrary: at least for at most.

    Not where either denies or says what holds beyond it: "no fee up to four hours" and "a fee
    over four hours" say the same.
    """
    if not claim.quantities or claim.denied.heads:
        return 0
    for quantity in claim.quantities:
        said = bound(claim.folded, quantity)
        if said is None:
            continue
        known = [
            (piece, bound(piece.folded, other))
            for piece in evidence.equal(quantity)
            for other in piece.quantities
            if other.equals(quantity)
        ]
        if not known or any(limit in (said, None) for _, limit in known):
            continue
        if any(
            not piece.denied.heads
            and not _BEYOND.search(piece.folded)
            and repeats(claim, piece, _REPEATED)
            for piece, _ in known
        ):
            return 1
    return 0
