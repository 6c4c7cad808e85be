# ruff: noqa: E501 - a case reads best on one line
"""What a clause of the passages denies, whichever sentence the statement rests on."""

import pytest

from rag_monitor.language.clauses import split_clauses
from tests.unit.judges.embedded.cases import judged, reasons

CASES = [
    # passage, statement that holds, statement that a clause denies
    (
        "A second monitor can be ordered without approval. Headsets and docking stations need approval from the team lead.",
        "A second monitor can be ordered without approval, and headsets and docking stations need approval from the team lead.",
        "A second monitor can be ordered without approval, and headsets and docking stations need no approval from the team lead.",
    ),
    (
        "An ergonomic chair is subsidised with up to £180 once every five years. Internet and electricity costs are not reimbursed.",
        "Internet and electricity costs are not reimbursed, and an ergonomic chair is subsidised with up to £180 once every five years.",
        "Internet and electricity costs are reimbursed, and an ergonomic chair is subsidised with up to £180 once every five years.",
    ),
    (
        "The milk container may go in the dishwasher, but the brewing unit may not. Rinse it weekly.",
        "The milk container may go in the dishwasher.",
        "The brewing unit may go in the dishwasher.",
    ),
    (
        "If you lose your card, block it in the app. A blocked card cannot be unblocked.",
        "A blocked card cannot be unblocked.",
        "A blocked card can be unblocked.",
    ),
    (
        "Night work carries a supplement of 30 percent. Employees under 18 may not work at night.",
        "Night work carries a supplement of 30 percent, and employees under 18 may not work at night.",
        "Night work carries a supplement of 30 percent, and employees under 18 may work at night.",
    ),
    (
        "会员可免费停车两小时。临时车辆不享受优惠，须按小时缴费。",
        "会员可免费停车两小时，临时车辆不享受优惠。",
        "会员可免费停车两小时，临时车辆享受优惠。",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[str(n) for n in range(len(CASES))])
def test_a_denied_clause_is_a_contradiction(case: tuple[str, str, str]) -> None:
    passage, right, wrong = case

    assert "contradiction" not in reasons(judged("", (passage,), right))
    assert reasons(judged("", (passage,), wrong)) == ["contradiction"]


def test_another_clause_that_says_the_same_clears_it() -> None:
    passage = (
        "Refunds are not paid for opened goods. For faulty goods, opened or not, refunds are paid."
    )

    assert "contradiction" not in reasons(judged("", (passage,), "Refunds are paid."))


def test_clauses_about_other_things_deny_nothing() -> None:
    passage = "The pool is closed on Mondays. Towels are not provided at the gym."

    assert "contradiction" not in reasons(
        judged("", (passage,), "Towels are provided at the pool bar of the hotel.")
    )


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("the cup may go in the oven, but the lid may not", ["the lid may not go in the oven"]),
        ("members can book online while guests cannot", ["guests can not book online"]),
        ("bring soap and towels", ["bring soap and towels"]),
        ("costs are paid, and the rest is kept by the club", ["the rest is kept by the club"]),
    ],
)
def test_clauses_are_told_apart_and_completed(text: str, clauses: list[str]) -> None:
    assert [part.strip() for part in split_clauses(text)][-1:] == clauses
