"""Numbers, dates and days of a statement in whose place its best sentence has another one.

A number that stands nowhere may have been read wrongly, or reckoned; where a statement repeats a
sentence but for it, and the sentence has one of its sort that the statement has not, the two
contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.judges.embedded.stated import Sort, Value, agree, sort
from rag_monitor.language.dates import Date
from rag_monitor.language.labelled import labels
from rag_monitor.language.periods import named_months, rates
from rag_monitor.language.tokens import tokenise
from rag_monitor.language.weekdays import named_weekdays

_REPEATED: Final = 0.7
"""Share of a statement's words that the sentence must hold; numbers aside."""
_CLOSELY: Final = 0.9
"""The same where the numbers have no unit and the dates no day, of which a sentence has several."""
_FEWEST: Final = 2
_NAMES: Final = frozenset(
    tokenise(
        "monday tuesday wednesday thursday friday saturday sunday january february april june july"
        " august september october november december hour day night week month quarter year"
        " hourly daily weekly monthly quarterly yearly annually 年月周天日时星期"
    )
)
_NAMED: Final[tuple[Callable[[str], frozenset[object]], ...]] = (named_months, rates, labels)


def rivals(claim: Piece, best: Piece, asked: Piece, *, derived: bool = False) -> int:
    """How many numbers, dates, days and rates of a statement have a rival in its best sentence.

    Args:
        claim: The statement.
        best: The sentence that covers most of it.
        asked: The question, whose numbers and days are not the passages' to say.
        derived: A number of the statement is reckoned; only a unit may then be wrong.
    """
    own = [token for token in claim.content if token.isalpha() and token not in _NAMES]
    known = best.token_set
    held = sum([token in known for token in own])
    if not own or held < min(_FEWEST, len(own)) or held < _REPEATED * len(own):
        return 0
    closely = held >= _CLOSELY * len(own)
    found = _other_unit(claim, best) if closely and claim.quantities else 0
    if derived:
        return found
    if claim.quantities or claim.dates:
        found += _others(claim, best, [*asked.quantities, *asked.dates], closely=closely)
    return found + (_named_otherwise(claim, best, asked) if closely else 0)


def _other_unit(claim: Piece, best: Piece) -> int:
    """Whether a number has another unit there: 100 °F for 100 °C."""
    return int(
        any(
            said.unit
            and known.unit
            and (said.value, said.kind) == (known.value, known.kind)
            and not any(said.equals(other) for other in best.quantities)
            and not any(known.equals(other) for other in claim.quantities)
            for said in claim.quantities
            for known in best.quantities
        )
    )


def _others(claim: Piece, best: Piece, given: Collection[Value], *, closely: bool) -> int:
    said, known = _by_sort(claim), _by_sort(best)
    found = 0
    for kind in said.keys() & known.keys():
        if closely or kind[1] not in _PLAIN:
            own, others = said[kind], known[kind]
            wrong = [v for v in own if not _among(v, others) and not _among(v, given)]
            free = [v for v in others if not _among(v, own)]
            found += min(len(wrong), len(free))
    return found


def _named_otherwise(claim: Piece, best: Piece, asked: Piece) -> int:
    """How many sorts of names of days, months, rates and models differ."""
    days = named_weekdays(claim.folded)
    known_days = named_weekdays(best.folded) if days else days
    # Sunday beside the days there are is wrong, too.
    found = int(bool(known_days and days - known_days - named_weekdays(asked.folded)))
    for read in _NAMED:
        said = read(claim.folded)
        if said:
            known = read(best.folded)
            found += bool(known - said and said - known - read(asked.folded))
    return found


def _among(value: Value, others: Collection[Value]) -> bool:
    return any(agree(value, other) for other in others)


_MONTH: Final = "month alone"
_BARE: Final = "no unit"
_PLAIN: Final = frozenset({_MONTH, _BARE})


def _by_sort(piece: Piece) -> dict[Sort, list[Value]]:
    found: dict[Sort, list[Value]] = {}
    # A narrative has years in too many places to hold them against each other.
    values: list[Value] = [*piece.quantities, *(d for d in piece.dates if d.month is not None)]
    for value in values:
        found.setdefault(sort(value) or _plain(value), []).append(value)
    return found


def _plain(value: Value) -> Sort:
    """The sort of what `stated` has none for."""
    return ("date", _MONTH) if isinstance(value, Date) else ("number", _BARE)
