"""Rankings: odd labels have the values of the definitions, and those of ir-measures."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

NAMES = ("retrieval_precision", "retrieval_recall", "average_precision", "ndcg", "reciprocal_rank")


def _row(id_: str, retrieved: list[Any], relevant: Any) -> dict[str, Any]:
    contexts = [{"id": name, "content": f"text of {name}"} for name in retrieved]
    return {
        "id": id_,
        "question": "q",
        "answer": "x",
        "contexts": contexts,
        "relevant_ids": relevant,
    }


def _gains(*grades: float) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


@pytest.mark.parametrize(
    ("retrieved", "relevant", "wanted"),
    [
        (["a", "a", "b"], ["a"], (1 / 2, 1.0, 1.0, 1.0, 1.0)),
        (["b", "a"], {"a": 1, "b": -2}, (1 / 2, 1.0, 1 / 2, _gains(0, 1) / _gains(1), 1 / 2)),
        ([3, 1], [1, 2], (1 / 2, 1 / 2, 1 / 4, _gains(0, 1) / _gains(1, 1), 1 / 2)),
        (["3", "1"], ["1.0", 1.0], (0.5, 0.5, 0.25, _gains(0, 1) / _gains(1, 1), 0.5)),
        (["x"], ["y"], (0.0, 0.0, 0.0, 0.0, 0.0)),
        ([], ["y"], (0.0, 0.0, 0.0, 0.0, 0.0)),
        (
            ["a", "b"],
            {"a": 0.5, "b": 1.5},
            (1.0, 1.0, 1.0, _gains(0.5, 1.5) / _gains(1.5, 0.5), 1.0),
        ),
    ],
)
def test_14_odd_labels_have_the_values_of_the_definitions(
    evaluate: Callable[..., Any], retrieved: list[Any], relevant: Any, wanted: tuple[float, ...]
) -> None:
    found = evaluate([_row("a", retrieved, relevant)], "--judge", "none")

    assert [found.mean(name) for name in NAMES] == pytest.approx(wanted)


@pytest.mark.parametrize("relevant", [[], {}, {"a": 0}, {"a": -1}])
def test_14_without_a_relevant_id_there_is_nothing_to_measure(
    evaluate: Callable[..., Any], relevant: Any
) -> None:
    rows = [_row("none", ["a"], relevant), _row("one", ["a"], ["a"])]

    found = evaluate(rows, "--judge", "none")

    assert set(found.lines[0]["not_applicable"].values()) == {"no_relevant_ids"}
    assert found.mean("ndcg") == 1.0


def _compare(rows: list[Mapping[str, Any]], lines: list[Mapping[str, Any]]) -> int:
    measures = pytest.importorskip("ir_measures")
    named = {
        "retrieval_recall": measures.R @ 1000,
        "average_precision": measures.AP,
        "ndcg": measures.nDCG,
        "reciprocal_rank": measures.RR,
    }
    compared = 0
    for row, line in zip(rows, lines, strict=True):
        relevant = row["relevant_ids"]
        grades = relevant if isinstance(relevant, dict) else dict.fromkeys(map(str, relevant), 1)
        if not any(grade > 0 for grade in grades.values()) or any(
            grade != int(grade) or grade < 0 for grade in grades.values()
        ):
            continue
        ids = list(dict.fromkeys(str(context["id"]) for context in row["contexts"]))
        if not ids:
            continue
        run = {row["id"]: {id_: float(len(ids) - place) for place, id_ in enumerate(ids)}}
        known = {row["id"]: {id_: int(grade) for id_, grade in grades.items()}}
        found = measures.calc_aggregate(list(named.values()), known, run)
        for name, measure in named.items():
            assert line["scores"][name] == pytest.approx(found[measure], abs=1e-6), (
                row["id"],
                name,
            )
        compared += 1
    return compared


def test_14_random_rankings_agree_with_ir_measures(evaluate: Callable[..., Any]) -> None:
    draw = random.Random(14)
    names = [f"p{n}" for n in range(9)]
    rows = [
        _row(
            f"r{n}",
            draw.sample(names, 6),
            {name: draw.randint(0, 3) for name in draw.sample(names, 5)},
        )
        for n in range(30)
    ]

    assert _compare(rows, evaluate(rows, "--judge", "none").lines) > 20


def test_14_rankings(evaluate: Callable[..., Any], shared_case: Callable[[str], Path]) -> None:
    path = shared_case("14_rankings.jsonl")
    rows = list(map(json.loads, path.read_text("utf-8").splitlines()))

    found = evaluate(path, "--judge", "none")

    scores = {line["id"]: line["scores"] for line in found.lines}
    assert scores["dup"]["retrieval_precision"] == pytest.approx(2 / 3)
    assert scores["neg"]["ndcg"] == pytest.approx(_gains(0, 2, 1) / _gains(2, 1))
    assert scores["empty"]["ndcg"] == scores["missing"]["ndcg"] == 0.0
    assert scores["none_rel"]["ndcg"] is None
    assert scores["all0"]["ndcg"] is None
    assert scores["intids"]["retrieval_recall"] == 1.0
    assert scores["notret"]["retrieval_recall"] == 0.5
    assert scores["grade_float"]["ndcg"] == pytest.approx(_gains(0.5, 1) / _gains(1, 0.5))
    assert _compare(rows, found.lines) > 30
