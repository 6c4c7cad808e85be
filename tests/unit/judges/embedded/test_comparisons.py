"""Numbers that stand nowhere but follow: comparisons, fractions, a day for 24 hours."""

from __future__ import annotations

import pytest

from rag_monitor.judges.embedded.arithmetic import converts
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.judges.embedded.reckoning import Reckoning
from rag_monitor.language.normalise import fold
from rag_monitor.language.numbers import find_quantities

SUITCASE = "A suitcase costs €35 online and €55 at the airport."
THEATRE = "Gas light was installed in 1841, electric light only in 1899."
SEEDS = "Basil sprouts in 5 days, parsley in up to 20 days."
CARDS = "普通读者证可借书8册，研究生证可借书15册。"


def explained(passage: str, claim: str) -> bool:
    """Whether the first number of a claim follows from the passage."""
    evidence = Evidence.build([passage], "")
    piece = Piece(claim)
    best = evidence.sentences[0]
    return Reckoning(piece, evidence).explains(piece.quantities[0], piece, best)


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        (SUITCASE, "Booking a suitcase online is €20 cheaper."),
        (THEATRE, "Electric light came 58 years later than gas light."),
        (SEEDS, "Parsley may take 4 times as long as basil."),
        (CARDS, "研究生证比普通读者证多7册。"),
        ("Eat it within a day.", "It ought to be eaten within 24 hours."),
        ("Files are kept for a year.", "Files are kept for one year."),
        ("The fee is waived by half.", "The fee falls by 50%."),
    ],
)
def test_what_follows_from_one_sentence_is_explained(passage: str, claim: str) -> None:
    assert explained(passage, claim)


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        (SUITCASE, "Booking a suitcase online is €25 cheaper."),
        (SUITCASE, "Booking a suitcase online costs €20."),
        (THEATRE, "Electric light came 48 years later than gas light."),
        (SEEDS, "Parsley may take 3 times as long as basil."),
        (CARDS, "研究生证比普通读者证多5册。"),
        ("Eat it within a day.", "It ought to be eaten within 48 hours."),
        ("Files are kept for a year.", "Files are kept for one month."),
        ("The fee is waived by half.", "The fee falls by 40%."),
    ],
)
def test_what_does_not_follow_is_not(passage: str, claim: str) -> None:
    assert not explained(passage, claim)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a fifth", "20%"),
        ("three quarters of a minute", "45 seconds"),
        ("a quarter of an hour", "15 minutes"),
        ("half a centimetre", "five millimetres"),
        ("two decades", "20 years"),
        ("50 pence", "£0.50"),
    ],
)
def test_one_amount_in_two_wordings_converts_both_ways(one: str, other: str) -> None:
    [a], [b] = find_quantities(fold(one)), find_quantities(fold(other))
    assert converts(a, b)
    assert converts(b, a)


def test_a_count_is_no_share() -> None:
    [count], [percent] = find_quantities("20 items"), find_quantities("20%")
    assert not converts(count, percent)
