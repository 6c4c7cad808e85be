"""Id columns of Ragas 0.4 make rankings, and columns of other tools are understood."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROW = {
    "user_input": "Which pages speak of tides?",
    "response": "p4 does.",
    "retrieved_contexts": ["Tides turn twice a day.", "Bread rises.", "Tides follow the moon."],
    "retrieved_context_ids": ["p4", "p7", "p9"],
    "reference_context_ids": ["p4", "p9", "p12", "p13"],
}
RANKING = {"retrieval_precision": 2 / 3, "retrieval_recall": 2 / 4, "reciprocal_rank": 1.0}
NUMBERS = {"retrieved_context_ids": [4, 7, 9], "reference_context_ids": [4, 9, 12, 13]}
TEXTS = {
    "retrieved_context_ids": '["p4", "p7", "p9"]',
    "reference_context_ids": "['p4', 'p9', 'p12', 'p13']",
}
GAPS = {"retrieved_context_ids": [4.0, 7.0, 9.0], "reference_context_ids": [4.0, 9.0, 12.0, 13.0]}
MIXED = {"retrieved_context_ids": ["4", 7, "9"], "reference_context_ids": [4, "9", 12, "13"]}


@pytest.mark.parametrize("ids", [{}, NUMBERS, TEXTS, GAPS, MIXED])
def test_08_ids_in_columns_of_their_own_are_a_ranking(
    evaluate: Callable[..., Any], ids: dict[str, Any]
) -> None:
    found = evaluate([{**ROW, **ids}], "--judge", "none")

    assert {name: found.mean(name) for name in RANKING} == pytest.approx(RANKING)


@pytest.mark.parametrize("contexts", [None, []])
def test_08_ids_alone_are_enough(evaluate: Callable[..., Any], contexts: object) -> None:
    found = evaluate([{**ROW, "retrieved_contexts": contexts}], "--judge", "none")

    assert {name: found.mean(name) for name in RANKING} == pytest.approx(RANKING)


def test_08_passages_with_ids_are_still_judged(evaluate: Callable[..., Any]) -> None:
    row = {**ROW, "response": "Tides turn twice a day."}

    found = evaluate([row], "--metrics", "faithfulness,retrieval_recall")

    assert found.mean("faithfulness") > 0.9
    assert found.mean("retrieval_recall") == pytest.approx(0.5)


def test_08_ids_that_do_not_belong_to_the_passages_name_the_row(
    evaluate: Callable[..., Any],
) -> None:
    rows = [ROW, {**ROW, "retrieved_context_ids": ["p4"]}]

    found = evaluate(rows, "--judge", "none")

    assert found.mean("retrieval_recall") == pytest.approx(0.5)
    assert "row 2: `retrieved_context_ids` has 1 ids for 3 passages" in found.stderr


def test_08_scores_of_the_other_tool_are_kept_beside_ours(evaluate: Callable[..., Any]) -> None:
    rows = [
        {**ROW, "faithfulness": 0.5, "factual_correctness(mode=f1)": 0.25, "year": 2024},
        {**ROW, "faithfulness": 1.0, "factual_correctness(mode=f1)": float("nan"), "year": 2025},
    ]

    found = evaluate(rows, "--judge", "none", "--metrics", "retrieval_hit")

    reported = found.report["reported"]
    assert {name: (f["value"], f["n"]) for name, f in reported.items()} == {
        "faithfulness": (0.75, 2),
        "factual_correctness(mode=f1)": (0.25, 1),
    }
    assert found.lines[0]["reported"] == {"faithfulness": 0.5, "factual_correctness(mode=f1)": 0.25}
    assert found.lines[0]["scores"] == {"retrieval_hit": 1.0}


def test_08_ragas_context_ids(
    evaluate: Callable[..., Any], shared_case: Callable[[str], Path]
) -> None:
    found = evaluate(shared_case("08_ragas_context_ids.jsonl"), "--judge", "none")

    assert found.mean("retrieval_precision") == pytest.approx(1 / 3)
    assert found.mean("retrieval_recall") == pytest.approx(1 / 2)
    assert found.mean("reciprocal_rank") == 1.0
    assert found.mean("retrieval_hit") == 1.0
