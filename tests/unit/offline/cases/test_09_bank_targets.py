"""The profile `rag`: the share of cited passages and the share of relevant ones have targets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.metrics.targets import load_profile

ZH = {
    "question": "快递寄往上海要几天？",
    "contexts": ["寄往上海的快递需要三天。", "寄往北京的快递另加五元。", "门店周日休息。"],
    "answer": "寄往上海的快递需要三天。",
}
EN = {
    "question": "How many days does a parcel to Oslo take?",
    "contexts": ["A parcel to Oslo takes 3 days.", "The shop is shut on Sunday.", "Stamps stick."],
    "answer": "A parcel to Oslo takes 3 days.",
}


def test_09_each_of_the_two_shares_has_a_target_of_its_own() -> None:
    bounds = {target.metric: target.at_least for target in load_profile("rag").targets}

    assert bounds["context_utilization"] == 0.9
    assert bounds["context_relevance"] == 0.9
    assert "context_precision" not in bounds


@pytest.mark.parametrize("row", [ZH, EN, {**EN, "contexts": EN["contexts"][::-1]}])
def test_09_two_passages_too_many_miss_both_targets(
    evaluate: Callable[..., Any], row: dict[str, Any]
) -> None:
    found = evaluate([{"id": "a", **row}], "--targets", "rag", "--fail-under")

    assert found.mean("context_utilization") == pytest.approx(1 / 3)
    assert found.mean("context_relevance") <= 2 / 3
    assert found.targets["context_utilization"] is False
    assert found.targets["context_relevance"] is False
    assert found.targets["faithfulness"] is True
    assert found.code == 1


def test_09_the_right_passage_alone_meets_both(evaluate: Callable[..., Any]) -> None:
    row = {"id": "a", **EN, "contexts": EN["contexts"][:1]}

    found = evaluate([row], "--targets", "rag", "--fail-under")

    assert found.targets["context_utilization"] is True
    assert found.targets["context_relevance"] is True
    assert found.code == 0


def test_09_bank_targets(evaluate: Callable[..., Any], shared_case: Callable[[str], Path]) -> None:
    found = evaluate(shared_case("09_bank_targets.jsonl"), "--targets", "rag", "--fail-under")

    assert found.mean("context_utilization") == pytest.approx(1 / 3, abs=0.05)
    assert found.mean("context_relevance") == pytest.approx(1 / 3, abs=0.05)
    assert found.targets["context_utilization"] is False
    assert found.targets["context_relevance"] is False
    assert found.code == 1
