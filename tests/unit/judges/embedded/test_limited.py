"""Numbers that a limit speaks of, limits turned round, and denials between different words."""

from __future__ import annotations

import pytest

from rag_monitor.judges.embedded.checks import Findings
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.features import look_up_all
from rag_monitor.judges.embedded.limited import limit_turned, within_limit
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.claims import take_apart

ROOMS = "Room bookings over four hours need the office manager's approval."
FILES = "Attachments over 25 MB are turned into links."
BATTERY = "Charge the battery to at least 60% before updating."
PARCELS = "Parcels of up to 25 kg go into the locker."


def findings(passage: str, statement: str, question: str = "") -> Findings:
    """What the checks find about the only statement of an answer."""
    evidence = Evidence.build([passage], question)
    [found] = look_up_all(take_apart(statement).claims, evidence, statement)
    return found.findings


def covered(passage: str, statement: str) -> bool:
    """Whether the first number of a statement is one that the passage's limit speaks of."""
    evidence = Evidence.build([passage], "")
    claim = Piece(statement)
    return within_limit(claim.quantities[0], claim, evidence.sentences[0])


@pytest.mark.parametrize(
    ("passage", "statement"),
    [
        (ROOMS, "A five-hour booking needs the office manager's approval."),
        (FILES, "An attachment with 30 MB arrives as a link."),
        ("Orders over €50 ship free.", "With an order for €60 shipping is free."),
        ("单笔超过5000元的报销须总监审批。", "报销8000元时由总监审批。"),
    ],
)
def test_an_instance_of_a_limit_is_no_missing_number(passage: str, statement: str) -> None:
    assert covered(passage, statement)

    found = findings(passage, statement)

    assert (found.numbers_missing, found.numbers_covered) == (0, 1)


@pytest.mark.parametrize(
    ("passage", "statement"),
    [
        (ROOMS, "Bookings over six hours need the office manager's approval."),
        (ROOMS, "Approval by the office manager takes five hours."),
        (FILES, "An attachment with 30 pages arrives as a link."),
        ("A booking lasts four hours.", "A five-hour booking needs approval."),
        ("单笔超过5000元的报销须总监审批。", "单笔超过8000元的报销须总监审批。"),
        ("单笔超过5000元的报销须总监审批。", "审批费用为80元。"),
    ],
)
def test_another_limit_or_an_outcome_is_missing(passage: str, statement: str) -> None:
    assert not covered(passage, statement)

    assert findings(passage, statement).numbers_missing == 1


@pytest.mark.parametrize(
    ("passage", "statement"),
    [
        (BATTERY, "The battery is charged to at most 60% before updating."),
        (PARCELS, "Parcels of over 25 kg go into the locker."),
        ("水质硬度低于5度的地区可关闭提醒。", "水质硬度高于5度的地区可关闭提醒。"),
    ],
)
def test_a_limit_turned_round_is_noticed(passage: str, statement: str) -> None:
    assert findings(passage, statement).limits_turned == 1


@pytest.mark.parametrize(
    ("passage", "statement"),
    [
        (BATTERY, "The battery is charged to no less than 60% before updating."),
        (PARCELS, "Parcels of 25 kg go into the locker."),
        (PARCELS, "Parcels over 25 kg do not go into the locker."),
        (
            "Bread keeps for up to three days, or freeze it.",
            "Bread over three days old: freeze it.",
        ),
        ("复印10页以内免费,其余每页1元。", "复印超过10页每页1元。"),
    ],
)
def test_what_fits_a_limit_is_not_turned(passage: str, statement: str) -> None:
    assert limit_turned(Piece(statement), Evidence.build([passage], "")) == 0


def test_a_denial_tells_where_the_words_are_the_same() -> None:
    passage = "The helmet may be returned within three years."

    found = findings(passage, "The helmet may not be returned within three years.")

    assert (found.negation, found.negation_apart, found.reversed) == (1, 0, 1)


def test_between_other_words_a_denial_tells_little() -> None:
    passage = "Ash is removed with the special vacuum, and pellets must bear the A1 mark."

    found = findings(passage, "Pellets that do not bear a mark void the guarantee.")

    assert (found.negation, found.negation_apart, found.reversed) == (0, 1, 0)


def test_two_denials_say_what_is_needed() -> None:
    passage = "The pass is valid only with a photo."

    found = findings(passage, "The pass is not valid without a photo.")

    assert (found.negation, found.negation_apart) == (0, 0)
