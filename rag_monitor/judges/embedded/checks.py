"""Checks that can contradict a claim: numbers, units, dates, names, negation, opposites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.judges.embedded.arithmetic import converts, is_constant
from rag_monitor.judges.embedded.contrary import denied_question, says_rule, states_exception
from rag_monitor.judges.embedded.denying import denied_elsewhere
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.exchanged import exchanged
from rag_monitor.judges.embedded.limited import limit_turned, within_limit
from rag_monitor.judges.embedded.opposed import contrary, repeats
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.judges.embedded.reckoning import Reckoning
from rag_monitor.judges.embedded.rivals import rivals
from rag_monitor.judges.embedded.stated import Value, agree, another_fits, by_sort, places
from rag_monitor.language import labelled
from rag_monitor.language.dates import Date
from rag_monitor.language.entities import capitalised_words, quoted
from rag_monitor.language.labelled import Label
from rag_monitor.language.normalise import fold
from rag_monitor.language.numbers import TIME, Quantity, may_tell_time
from rag_monitor.language.stems import stem
from rag_monitor.language.strength import absolutes, causes, counts, hedges, times
from rag_monitor.language.synonyms import others
from rag_monitor.language.tokens import is_han
from rag_monitor.language.weekdays import named_weekdays


@dataclass(init=False)
class Findings:
    """What the checks found about one claim; counts, 0 when all is well.

    Made for every claim, so it begins with nothing of its own: what is not set, the class holds.
    """

    numbers_missing: int = 0
    """Stated numbers that neither stand in the passages nor follow from them."""
    numbers_elsewhere: int = 0
    """Numbers that stand in the passages, but not where the claim's other words do."""
    numbers_derived: int = 0
    numbers_covered: int = 0
    """Numbers that stand nowhere, but beyond a limit or in a range that the best sentence has."""
    exchanged: int = 0
    """Numbers and dates in whose place the passages state another one of the sort."""
    contradicted: int = 0
    """Numbers and dates in whose place the best sentence, which has the other words, has another
    one; and those that change places with each other."""
    limits_turned: int = 0
    """1 when the most of something is stated as its least, or the other way round."""
    units_changed: int = 0
    """The value stands in the passages with another unit."""
    dates_missing: int = 0
    dates_elsewhere: int = 0
    names_missing: int = 0
    names_opening_missing: int = 0
    """Unknown capitalised words that open the claim, where a capital says little."""
    quotes_missing: int = 0
    negation: int = 0
    """1 when claim and best evidence differ in negation."""
    negation_apart: int = 0
    """The same where they share too few words for it to contradict."""
    opposites: int = 0
    reversed: int = 0
    """1 when the claim is a sentence of the passages turned into its contrary."""
    polarity_told: bool = False
    """Whether its best sentence decides what is denied; other sentences need not be asked."""
    absolutes: int = 0
    """English words without exception (all, only) that no passage and no question holds."""
    more: float = 0.0
    """Log of as how many claims a Chinese claim counts: absolutes, causes, times, counts and
    denials that the passages do not hold make it more than one, hedges less."""
    subject_missing: int = 0
    """1 when the word a claim of a few words opens with stands in no passage and no question."""
    substituted: int = 0
    """1 when the claim is its best sentence with something else in one place."""


_MOST_FACTS: Final = 24
"""Numbers, and dates, of one claim that are checked; a row of a table may hold hundreds."""

_SHORT: Final = 8
"""Content words of a claim short enough to take the first of them for its subject."""


def check(
    claim: Piece,
    evidence: Evidence,
    unknown: frozenset[str],
    best: Piece | None,
    reckoning: Reckoning,
) -> Findings:
    """Run every check of `claim` against the passages.

    Args:
        claim: The statement.
        evidence: The passages and the question.
        unknown: Those of its terms that stand in neither.
        best: The sentence that covers most of the claim.
        reckoning: The numbers of the whole answer, which may explain one another.
    """
    findings = Findings()
    _check_dates(findings, claim, evidence, best)
    _check_weekdays(findings, claim, evidence, best)
    _check_numbers(findings, claim, evidence, best, reckoning)
    _check_labels(findings, claim, evidence, best)
    _check_names(findings, claim, evidence, unknown)
    _check_strength(findings, claim, evidence, best)
    if 1 < len(claim.content) <= _SHORT and not is_han(claim.content[0]):
        findings.subject_missing = int(claim.content[0] in unknown)
    if best is not None:
        findings.polarity_told = _check_polarity(findings, claim, evidence, best)
        findings.reversed |= exchanged(claim.tokens, best.tokens)
    return findings


def _check_dates(findings: Findings, claim: Piece, evidence: Evidence, best: Piece | None) -> None:
    if not claim.dates:
        return
    near = best.dates if best else ()
    for date in claim.dates[:_MOST_FACTS]:
        # Most stand in the best sentence, and then the others need not be read at all.
        if any(date.supported_by((d,)) for d in near):
            continue
        known = [d for d, _ in evidence.dates]
        if not date.supported_by(known) and not _plain_year(date, evidence):
            findings.dates_missing += not date.supported_by(evidence.question.dates)
        elif not any(piece is best and date.agrees(d) for d, piece in evidence.dates):
            findings.dates_elsewhere += 1


def _check_weekdays(
    findings: Findings, claim: Piece, evidence: Evidence, best: Piece | None
) -> None:
    """Count it as a missing date when the best sentence names other days of the week."""
    said = named_weekdays(claim.folded)
    near = named_weekdays(best.folded) if said and best else frozenset()
    if not near or said <= near:
        return
    known = near | named_weekdays(evidence.joined) | named_weekdays(evidence.question.folded)
    findings.dates_missing += not said <= known


def _plain_year(date: Date, evidence: Evidence) -> bool:
    """Whether a lone year stands in the passages as a bare number."""
    return date.month is None and date.day is None and evidence.holds(str(date.year))


def _check_numbers(
    findings: Findings,
    claim: Piece,
    evidence: Evidence,
    best: Piece | None,
    reckoning: Reckoning,
) -> None:
    if not claim.quantities:
        return
    asked = evidence.question.quantities
    near = best.quantities if best else ()
    constants = 0
    rows = [row for row, label in evidence.rows if label and label <= claim.terms]
    for quantity in claim.quantities[:_MOST_FACTS]:
        if _other_money(quantity, near, evidence):
            findings.units_changed += 1
        elif rows and _of_another_row(quantity, rows, evidence):
            findings.numbers_missing += 1
        elif any(quantity.equals(q) for q in near):
            continue
        elif any(converts(quantity, q) for q in near):
            _count_reckoned(findings, quantity, claim, best, reckoning)
        elif places := evidence.equal(quantity):
            findings.numbers_elsewhere += not any(piece is best for piece in places)
        elif not any(quantity.equals(q) for q in asked) and not _as_year(quantity, evidence):
            constants += not _is_accounted_for(
                findings, quantity, claim, best, reckoning
            ) and _count_unknown(findings, quantity, evidence)
    if not findings.numbers_derived:
        findings.numbers_missing += constants


def check_reworded(
    findings: Findings,
    claim: Piece,
    evidence: Evidence,
    best: Piece | None,
    near: Sequence[int],
) -> None:
    """The checks of a statement that stands nowhere word for word, which run after the others.

    `near` are the numbers of the sentences that share a few words with it.
    """
    if best is not None:
        if not findings.polarity_told:
            findings.reversed |= denied_elsewhere(
                claim, [evidence.sentences[number] for number in near]
            )
        derived = findings.numbers_derived + findings.numbers_covered > 0
        findings.contradicted = rivals(claim, best, evidence.question, derived=derived)
    _check_places(findings, claim, evidence)
    findings.limits_turned = limit_turned(claim, evidence)


def _check_places(findings: Findings, claim: Piece, evidence: Evidence) -> None:
    """Count numbers and dates that stand where the passages have another one.

    What the question gave is not the passages' to say, and what stands nowhere is counted already.
    """
    if not (claim.quantities or claim.dates) or findings.numbers_missing or findings.dates_missing:
        return
    if findings.numbers_derived or findings.numbers_covered or findings.units_changed:
        return
    asked = evidence.question
    given: list[Value] = [*asked.quantities, *asked.dates]
    stated: list[Value] = [*claim.quantities[:_MOST_FACTS], *claim.dates[:_MOST_FACTS]]
    for sort, values in by_sort(stated).items():
        doubtful = [
            value
            for value in values
            if not any(agree(value, other) for other in given) and evidence.differs(value, sort)
        ]
        if doubtful:
            known = evidence.stated(sort)
            findings.exchanged += sum(
                another_fits(said, known, evidence.weights)
                for said in places(claim.folded, values)
                if said.value in doubtful
            )
    if findings.exchanged > 1:
        findings.contradicted += findings.exchanged
    elif findings.exchanged:
        # It may rest on the sentence that has its number, and repeat another one but for it.
        pieces = {id(piece): piece for _, piece in [*evidence.quantities, *evidence.dates]}
        findings.contradicted |= any(rivals(claim, piece, asked) for piece in pieces.values())


def _is_accounted_for(
    findings: Findings,
    quantity: Quantity,
    claim: Piece,
    best: Piece | None,
    reckoning: Reckoning,
) -> bool:
    """Whether a number that stands nowhere follows from others, or a limit speaks of it."""
    if _count_reckoned(findings, quantity, claim, best, reckoning):
        return True
    covered = within_limit(quantity, claim, best)
    findings.numbers_covered += covered
    return covered


def _count_reckoned(
    findings: Findings,
    quantity: Quantity,
    claim: Piece,
    best: Piece | None,
    reckoning: Reckoning,
) -> bool:
    """Whether a number that stands nowhere follows from others, or is only supposed."""
    derived = reckoning.explains(quantity, claim, best)
    findings.numbers_derived += derived
    return derived or reckoning.supposes(quantity, claim)


def _count_unknown(findings: Findings, quantity: Quantity, evidence: Evidence) -> bool:
    """Count a number that stands nowhere, unless everybody knows it: then it is True."""
    if any(_same_amount(quantity, q) for q, _ in evidence.quantities):
        findings.units_changed += 1
    elif is_constant(quantity):
        return True
    else:
        findings.numbers_missing += comparable(quantity, evidence)
    return False


def _other_money(quantity: Quantity, near: Sequence[Quantity], evidence: Evidence) -> bool:
    """Whether the best sentence has the amount in another currency and no passage in this one.

    A bare number of the same value, such as an age, does not make up for that.
    """
    if quantity.kind != "money":
        return False
    amounts = [q for q in near if q.kind == "money" and q.value == quantity.value]
    if not amounts or any(q.unit == quantity.unit for q in amounts):
        return False
    return not any(q.unit == quantity.unit and quantity.equals(q) for q, _ in evidence.quantities)


def _of_another_row(quantity: Quantity, rows: Sequence[Piece], evidence: Evidence) -> bool:
    """Whether the named rows of a table have another number of the unit, and others this one."""
    if not quantity.unit or not any(_alike_unit(quantity, q) for r in rows for q in r.quantities):
        return False
    places = evidence.equal(quantity)
    return bool(places) and all(
        piece.is_row and not any(piece is row for row in rows) for piece in places
    )


def _alike_unit(a: Quantity, b: Quantity) -> bool:
    return (a.kind, a.unit) == (b.kind, b.unit)


def _check_labels(findings: Findings, claim: Piece, evidence: Evidence, best: Piece | None) -> None:
    """Count what is told apart by a number as a missing one where the passages have another."""
    named = labelled.labels(claim.folded)
    if named and (unknown := named - evidence.labels):
        series = {label.series for label in evidence.labels}
        findings.numbers_missing += sum(
            label.series in series and not _written_apart(label, evidence) for label in unknown
        )
    if best is None or not (said := labelled.ordinals(claim.folded)):
        return
    series = {label.series for label in labelled.ordinals(best.folded)}
    findings.numbers_missing += sum(label.series in series for label in said - evidence.ordinals)


def _written_apart(label: Label, evidence: Evidence) -> bool:
    """Whether the passages or the question have a space in it: iPhone15 and iPhone 15."""
    texts = (evidence.joined, evidence.question.folded)
    return any(f"{label.series} {label.number}" in text for text in texts)


def comparable(quantity: Quantity, evidence: Evidence) -> bool:
    """Whether passages hold what contradicts it; a time of day where none is named is just new."""
    return quantity.kind != TIME or any(
        known.kind == TIME
        for passage in evidence.passages
        if may_tell_time(passage.folded)
        for known, _ in passage.quantities
    )


def _as_year(quantity: Quantity, evidence: Evidence) -> bool:
    return any(quantity.value == date.year for date, _ in evidence.dates)


def _same_amount(quantity: Quantity, other: Quantity) -> bool:
    if TIME in (quantity.kind, other.kind):
        return False
    return bool(quantity.value == other.value and quantity.unit and other.unit)


def _check_names(
    findings: Findings, claim: Piece, evidence: Evidence, unknown: frozenset[str]
) -> None:
    def known(word: str) -> bool:
        return word not in unknown if word in claim.terms else evidence.knows(word)

    for word, opening in capitalised_words(claim.text):
        if known(stem(word)) or all(known(p) or len(p) < 2 for p in _parts(word)):
            continue
        if any(c.isdigit() for c in word) or fold(word) in evidence.joined:
            continue
        if opening:
            findings.names_opening_missing += 1
        else:
            findings.names_missing += 1
    for phrase in quoted(claim.text):
        folded = fold(phrase).strip(" .,")
        if folded and folded not in evidence.joined and folded not in evidence.question.folded:
            findings.quotes_missing += 1


def _parts(name: str) -> list[str]:
    """What a name with hyphens is made of."""
    return [stem(part) for part in fold(name).replace("&", "-").split("-") if part]


def _check_strength(
    findings: Findings, claim: Piece, evidence: Evidence, best: Piece | None
) -> None:
    if claim.folded.isascii():
        said = absolutes(claim.folded, claim.tokens)
        findings.absolutes = _unknown(said, evidence) if said else 0
        return
    for words, weight in _ADDS:
        said = words(claim.folded)
        if said:
            findings.more += weight * min(2, _unknown(said, evidence))
    if claim.denied.heads and not (best and best.denied.heads):
        findings.more += _DENIAL_ADDS


def _check_polarity(findings: Findings, claim: Piece, evidence: Evidence, best: Piece) -> bool:
    """Hold the claim's denials and opposites against its best sentence; whether that settles it."""
    findings.negation, findings.opposites = contrary(claim, best)
    if denied_question(best, evidence) or states_exception(claim, best):
        # What is denied there is denied here, too, when the two differ; else it is affirmed.
        agree = findings.negation or findings.opposites or claim.denied.heads - best.denied.heads
        findings.negation = findings.reversed = int(not agree and says_rule(claim, best))
        findings.opposites = 0
        return True
    if findings.negation and not _told(claim, best):
        findings.negation, findings.negation_apart = 0, 1
    if not (findings.negation or findings.opposites):
        return False
    if any(
        piece is not best and repeats(claim, piece) and contrary(claim, piece) == (0, 0)
        for piece in evidence.sentences
    ):
        findings.negation = findings.opposites = 0
    else:
        findings.reversed = int(repeats(claim, best))
    return bool(findings.reversed)


def _told(claim: Piece, best: Piece) -> bool:
    """Whether a difference in negation says anything.

    Between English sentences that share few words it does not: "only from six on" denies what "a
    five-year-old may not" denies. Of those written for this 299 were right and 318 were not.
    """
    return not claim.folded.isascii() or repeats(claim, best, _DENIED_TELLS)


_DENIED_TELLS: Final = 0.75
_ADDS: Final = (
    (absolutes, 0.8), (hedges, -0.5), (causes, 0.6), (times, 0.4), (counts, 0.3),
)  # fmt: skip
"""Kind of words, and what each that stands in no passage adds; chosen by hand, not learnt."""
_DENIAL_ADDS: Final = 0.5


def _unknown(words: frozenset[str], evidence: Evidence) -> int:
    """How many of `words` neither the passages nor the question hold, in no other word."""
    texts = (evidence.joined, evidence.question.folded)
    return sum(not any(_in_other_words(word, text) for text in texts) for word in words)


def _in_other_words(word: str, text: str) -> bool:
    return word in text or any(other in text for other in others(word))
