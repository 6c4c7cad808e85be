"""Months named alone, and how often something is."""

import pytest

from rag_monitor.language.periods import named_months, rates


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("paid out in june of the following year", {6}),
        ("from april to june", {4, 6}),
        ("in may, and in march", {3, 5}),
        ("you may march on", set()),
        ("每年6月发放，12月结算", {6, 12}),
        ("有效期6个月", set()),
        ("a decision", set()),
    ],
)
def test_months(text: str, months: set[int]) -> None:
    assert named_months(text) == months


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("ten hours per week", {"week"}),
        ("monthly, or £5 a day", {"month", "day"}),
        ("annually", {"year"}),
        ("each night", {"night"}),
        ("每个月三次，每天一次", {"month", "day"}),
        ("early in the day", set()),
    ],
)
def test_rates(text: str, spans: set[str]) -> None:
    assert rates(text) == spans
