"""DeepEval's names, in the spelling of its Python and of its exports."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SNAKE = {
    "input": "When does the ferry leave?",
    "actual_output": "The ferry leaves at nine.",
    "expected_output": "At nine.",
    "retrieval_context": ["The ferry leaves at nine.", "Dogs travel free."],
}
CAMEL = {
    "input": SNAKE["input"],
    "actualOutput": SNAKE["actual_output"],
    "expectedOutput": SNAKE["expected_output"],
    "retrievalContext": SNAKE["retrieval_context"],
}
TITLES = {
    "Input": SNAKE["input"],
    "Actual Output": SNAKE["actual_output"],
    "Expected Output": SNAKE["expected_output"],
    "Retrieval Context": SNAKE["retrieval_context"],
}
IDEAL = {**SNAKE, "context": ["The ferry sinks."], "tools_called": None, "comments": ""}


def _check(found: Any) -> None:
    assert found.code == 0
    assert found.mean("faithfulness") > 0.5
    assert found.mean("context_utilization") == 0.5
    assert found.mean("rouge_l_recall") == 1.0


METRICS = ("--metrics", "faithfulness,context_utilization,rouge_l_recall")


@pytest.mark.parametrize("row", [SNAKE, CAMEL, TITLES, IDEAL])
def test_f_deep_names_are_understood(
    evaluate: Callable[..., Any], tmp_path: Path, row: dict[str, Any]
) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([row]), encoding="utf-8")

    _check(evaluate(path, *METRICS))


def test_f_deep_names_are_understood_in_a_table(
    evaluate: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "cases.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(SNAKE)
        table.writerow(
            json.dumps(value) if isinstance(value, list) else value for value in SNAKE.values()
        )

    _check(evaluate(path, *METRICS))


def test_f_deep_scores_are_kept(evaluate: Callable[..., Any]) -> None:
    measured = [
        {"name": "Faithfulness", "score": 0.5, "success": False, "reason": "one of two"},
        {"name": "Bias", "score": None, "error": "timeout"},
    ]

    found = evaluate([{**SNAKE, "metrics_data": measured}], *METRICS)

    assert found.report["reported"]["Faithfulness"]["value"] == 0.5
    assert list(found.report["reported"]) == ["Faithfulness"]


def test_f_deep(evaluate: Callable[..., Any], shared_case: Callable[[str], Path]) -> None:
    _check(evaluate(shared_case("f_deep.json"), *METRICS))
