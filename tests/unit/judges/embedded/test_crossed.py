# ruff: noqa: E501 - a case reads best on one line
"""Clauses with parts in each other's place."""

import pytest

from tests.unit.judges.embedded.cases import judged, reasons

PAIRS = [
    # passage, statement that holds, the same exchanged
    ("It granted the river cities the right to collect their own tolls for fifty years, while the duke kept control of the salt mines.",
     "The river cities got the right to collect tolls for fifty years, while the duke kept control of the salt mines.",
     "The duke kept the right to collect tolls for fifty years, while the river cities gained control of the salt mines."),
    ("真菌提供水分和保护，藻类通过光合作用提供养分。", "其中真菌提供水分和保护，藻类则通过光合作用提供养分。", "其中藻类提供水分和保护，真菌则通过光合作用提供养分。"),
    ("甲方负责场地租赁和布置，乙方负责设备运输与安装调试。", "场地的租赁和布置由甲方负责，设备的运输与安装调试由乙方负责。", "场地的租赁和布置由乙方负责，设备的运输与安装调试由甲方负责。"),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=[str(n) for n in range(len(PAIRS))])
def test_parts_in_each_others_place_contradict(pair: tuple[str, str, str]) -> None:
    passage, right, wrong = pair

    assert "contradiction" not in reasons(judged("", (passage,), right))
    assert "contradiction" in reasons(judged("", (passage,), wrong))


def test_another_order_of_clauses_is_no_exchange() -> None:
    passage = "The library lends books for four weeks, and the archive shows maps on request."
    answer = "The archive shows maps on request, and the library lends books for four weeks."

    assert "contradiction" not in reasons(judged("", (passage,), answer))
