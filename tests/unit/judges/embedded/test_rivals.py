# ruff: noqa: E501 - a case reads best on one line
"""A statement that repeats a sentence but for a number, a day or a rate contradicts it."""

import pytest

from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.judges.embedded.rivals import rivals
from tests.unit.judges.embedded.cases import judged, passes, reasons

NOTHING = Piece("")
OTHERS = [
    # sentence of the passages, the same with something else in its place
    ("Claims must be submitted within 28 days of the journey.", "Claims have to be submitted within 21 days of the journey."),
    ("The excess is £75 per claim.", "The excess is £50 per claim."),
    ("Applicants need an IELTS score of at least 6.5.", "Applicants need an IELTS score of at least 7.5."),
    ("Those days lapse on 31 March.", "Those days lapse on 31 May."),
    ("It is paid out in June of the following year.", "It is paid out in July of the following year."),
    ("Donations are accepted on the first Monday of the month.", "Donations are accepted on the first Tuesday of the month."),
    ("We are open Monday to Friday.", "We are open Monday to Sunday."),
    ("The first ten hours per month are compensated with time off.", "The first ten hours per week are compensated with time off."),
    ("Four temperatures can be selected: 70, 80, 90 and 100 °C.", "Four temperatures can be selected: 70, 80, 90 and 100 °F."),
    ("The X200 weighs 1.3 kg.", "The X300 weighs 1.3 kg."),
    ("申请须在28天内提交。", "申请须在21天内提交。"),
    ("每月可免费取款三次。", "每周可免费取款三次。"),
]  # fmt: skip
ALIKE = [
    ("Claims must be submitted within 28 days of the journey.", "Claims must be submitted within four weeks of the journey."),
    ("Claims must be submitted within 28 days.", "You submit claims in 28 days."),
    ("The team won the cup in 2018 and built on it the year after.", "The team won the cup in 2019."),
    ("A weekly ticket costs £46, a monthly ticket £172.", "A monthly ticket costs £172."),
    ("It opens in June.", "It opens in June and closes in June."),
    ("The fee is £10 per ticket.", "It costs £10."),
    ("每月可免费取款三次。", "每个月可以免费取款三次。"),
]  # fmt: skip


@pytest.mark.parametrize(("known", "said"), OTHERS)
def test_what_stands_in_the_place_of_another_has_a_rival(known: str, said: str) -> None:
    assert rivals(Piece(said), Piece(known), NOTHING) > 0
    assert rivals(Piece(known), Piece(known), NOTHING) == 0


@pytest.mark.parametrize(("known", "said"), ALIKE)
def test_what_is_said_otherwise_or_not_at_all_has_none(known: str, said: str) -> None:
    assert rivals(Piece(said), Piece(known), NOTHING) == 0


def test_numbers_and_days_of_the_question_are_not_the_passages_to_say() -> None:
    known, said = Piece("A pass costs 10 euros a day."), Piece("A pass costs 30 euros a day.")

    assert rivals(said, known, NOTHING) == 1
    assert rivals(said, known, Piece("Is it true that a pass costs 30 euros?")) == 0


def test_a_reckoned_number_has_no_rival_but_its_unit_may() -> None:
    known = Piece("The programme heats the oven to 480 °C.")

    assert (
        rivals(Piece("The programme heats the oven to 500 °C."), known, NOTHING, derived=True) == 0
    )
    assert (
        rivals(Piece("The programme heats the oven to 480 °F."), known, NOTHING, derived=True) == 1
    )


def test_one_contradicted_number_flags_an_answer_of_three_statements() -> None:
    passage = (
        "Passengers delayed by 60 minutes or more get the full fare. Claims must be submitted "
        "within 28 days of the journey, online or at any staffed station."
    )
    right = (
        "Passengers delayed by 60 minutes or more get the full fare. Claims have to be submitted "
        "within 28 days of the journey. You can do this online or at any staffed station."
    )
    found = judged("", (passage,), right.replace("28", "21"))

    assert reasons(found)[1] == "number_mismatch"
    assert not passes(found)
    assert passes(judged("", (passage,), right))
