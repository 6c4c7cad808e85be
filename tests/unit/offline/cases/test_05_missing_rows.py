"""Rows without a score are counted: a gate does not pass on the few that are left."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Command = Callable[..., Result]
Write = Callable[..., Path]


def _line(id_: object, value: float | None, **why: Mapping[str, str]) -> dict[str, Any]:
    return {"id": str(id_), "scores": {"faithfulness": value}, **why}


def _lines(scored: int, failed: int = 0, **why: Any) -> list[dict[str, Any]]:
    why = why or {"failed": {"faithfulness": "judge_timeout"}}
    return [_line(n, 0.9) for n in range(scored)] + [
        _line(n, None, **why) for n in range(scored, scored + failed)
    ]


def _verdicts(done: Result) -> dict[str, str]:
    return {row["metric"]: row["verdict"] for row in json.loads(done.stdout)["metrics"]}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (_lines(40), _lines(10, 30)),
        (_lines(10, 30), _lines(40)),
        (_lines(40), _lines(10)),
        (_lines(40), _lines(10, 30, not_applicable={"faithfulness": "refusal"})),
        (_lines(40), _lines(10, 30, suspect={"faithfulness": "injection"})),
        (_lines(40), [*_lines(10), *({"id": str(n), "scores": {}} for n in range(10, 40))]),
        (_lines(10, 30), _lines(10, 30)),
    ],
)
def test_05_no_change_is_never_said_of_a_quarter_of_the_rows(
    command: Command, write: Write, a: list[Any], b: list[Any]
) -> None:
    files = write("a.jsonl", a), write("b.jsonl", b)

    done = command("compare", *files, "--json")

    assert done.exit_code == 1
    assert _verdicts(done) == {"faithfulness": "incomplete"}
    assert "faithfulness: rows without a pair of scores: 75%, more than 5%" in done.stderr
    assert "--max-missing" in done.stderr


def test_05_the_reason_is_told_in_both_languages_and_the_table_says_no_change_nowhere(
    command: Command, write: Write
) -> None:
    files = write("a.jsonl", _lines(40)), write("b.jsonl", _lines(10, 30))

    english, chinese = command("compare", *files), command("compare", *files, "--language", "zh")

    assert "no change" not in english.output
    assert "incomplete" in english.stdout
    assert "judge timed out 30" in english.stderr
    assert "无明显变化" not in chinese.output
    assert "忠实度" in chinese.stdout
    assert "75% 的行无法成对比较" in chinese.stderr
    assert "评审模型超时 30" in chinese.stderr


@pytest.mark.parametrize(
    ("missing", "more", "code"),
    [
        (2, (), 0),
        (3, (), 1),
        (3, ("--max-missing", "10%"), 0),
        (3, ("--max-missing", "0.1"), 0),
        (1, ("--max-missing", "0"), 1),
        (30, ("--max-missing", "80%"), 0),
    ],
)
def test_05_how_many_may_be_missing_is_settable(
    command: Command, write: Write, missing: int, more: tuple[str, ...], code: int
) -> None:
    files = write("a.jsonl", _lines(40)), write("b.jsonl", _lines(40 - missing, missing))

    done = command("compare", *files, "--json", *more)

    assert done.exit_code == code, done.stderr
    assert _verdicts(done) == {"faithfulness": "incomplete" if code else "same"}


def test_05_rows_that_a_metric_does_not_apply_to_on_either_side_are_not_missing(
    command: Command, write: Write
) -> None:
    lines = _lines(10, 30, not_applicable={"faithfulness": "refusal"})

    done = command("compare", write("a.jsonl", lines), write("b.jsonl", lines), "--json")

    assert done.exit_code == 0
    assert _verdicts(done) == {"faithfulness": "same"}


def test_05_a_metric_that_no_row_has_on_one_side_is_incomplete(
    command: Command, write: Write
) -> None:
    a = [{"id": str(n), "scores": {"faithfulness": 0.9, "ndcg": 0.5}} for n in range(20)]
    b = [
        {
            "id": str(n),
            "scores": {"faithfulness": None, "ndcg": 0.5},
            "failed": {"faithfulness": "judge_unavailable"},
        }
        for n in range(20)
    ]

    done = command("compare", write("a.jsonl", a), write("b.jsonl", b), "--json")

    assert done.exit_code == 1
    assert "faithfulness: rows without a pair of scores: 100%" in done.stderr
    assert _verdicts(done)["ndcg"] == "same"


@pytest.mark.parametrize("share", ["5", "-1", "120%", "many", "nan", "1.5"])
def test_05_a_share_that_is_none_is_refused(command: Command, write: Write, share: str) -> None:
    files = write("a.jsonl", _lines(4)), write("b.jsonl", _lines(4))

    done = command("compare", *files, "--max-missing", share)

    assert done.exit_code == 2
    assert "5%" in done.output


GOOD = {"question": "How long?", "contexts": ["It lasts 36 months."], "answer": "36 months."}
TARGET = {"faithfulness": ("at_least", 0.5)}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({**GOOD, "contexts": "oops"}, "row cannot be read 3"),
        ({"note": "no trace"}, "row cannot be read 3"),
        ({**GOOD, "contexts": [{"chapter": 1}]}, "row cannot be read 3"),
        ({**GOOD, "contexts": None}, "contexts unknown 3"),
        ({**GOOD, "answer": ""}, "no answer 3"),
    ],
)
def test_05_a_gate_counts_rows_without_a_score(
    evaluate: Callable[..., Any], targets: Callable[..., Any], bad: dict[str, Any], why: str
) -> None:
    rows = [{"id": "g", **GOOD}, *({"id": f"bad{n}", **bad} for n in range(3))]

    passing = evaluate(rows, *targets(**TARGET))
    found = evaluate(rows, *targets(**TARGET), "--fail-under")

    assert passing.code == 0
    assert found.code == 1
    assert found.targets == {"faithfulness": True}
    assert "faithfulness: rows without a score: 75%, more than 5%" in found.stderr
    assert why in found.stderr
    assert evaluate(rows, *targets(**TARGET), "--fail-under", "--max-missing", "75%").code == 0


def test_05_a_gate_tells_its_reason_in_chinese(
    evaluate: Callable[..., Any], targets: Callable[..., Any]
) -> None:
    rows = [{"id": "g", **GOOD}, {"id": "b", **GOOD, "contexts": "oops"}]

    found = evaluate(rows, *targets(**TARGET), "--fail-under", "--language", "zh")

    assert found.code == 1
    assert "faithfulness：50% 的行没有分数，超过 --max-missing 的 5%：行无法读取 1" in found.stderr


def test_05_refusals_and_rows_without_labels_are_not_missing(
    evaluate: Callable[..., Any], targets: Callable[..., Any]
) -> None:
    refusal = {**GOOD, "answer": "I'm sorry, I cannot answer that from the documents."}
    rows = [{"id": n, **GOOD} for n in range(6)] + [{"id": n, **refusal} for n in range(6, 12)]
    rows[0] = {**rows[0], "reference": "36 months"}
    wanted = {**TARGET, "token_f1": ("at_least", 0.5)}

    found = evaluate(rows, *targets(**wanted), "--fail-under")

    assert found.code == 0, found.stderr


def test_05_predictions_that_are_missing_are_counted(
    evaluate: Callable[..., Any], targets: Callable[..., Any]
) -> None:
    rows = [{"id": n, "label": "a", "predicted": "a" if n < 10 else None} for n in range(40)]

    found = evaluate(rows, *targets(accuracy=("at_least", 0.9)), "--fail-under")

    assert found.targets == {"accuracy": True}
    assert found.code == 1
    assert "accuracy: rows without a score: 75%" in found.stderr
    assert "no prediction 30" in found.stderr


def test_05_compare(command: Command, shared_case: Callable[[str], Path]) -> None:
    a, b = shared_case("05_compare_A.jsonl"), shared_case("05_compare_B_30_failed.jsonl")

    done = command("compare", a, b)

    assert done.exit_code == 1
    assert "no change" not in done.output
    assert "75%, more than 5% (--max-missing): judge timed out 30" in done.stderr
    assert command("compare", a, a).exit_code == 0


def test_05_fail_under(command: Command, shared_case: Callable[[str], Path]) -> None:
    rows, target = shared_case("05_fail_under_rows.jsonl"), shared_case("05_target.toml")

    done = command("evaluate", rows, "--targets", target, "--fail-under")

    assert done.exit_code == 1
    assert "faithfulness: rows without a score: 75%, more than 5%" in done.stderr
