"""Labels and predictions are a file of their own: no question and no answer are needed."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAIRS = [("spam", "spam")] * 18 + [("ham", "spam")] * 2 + [("spam", "ham")] * 3
PAIRS += [("ham", "ham")] * 77
FIGURES = {
    "accuracy": 0.95,
    "precision/spam": 0.9,
    "recall/spam": 18 / 21,
    "f1/spam": 36 / 41,
    "false_positive_rate/spam": 2 / 79,
    "false_negative_rate/spam": 3 / 21,
    "precision/ham": 77 / 80,
}
BINARY = {
    "accuracy": 0.875,
    "precision": 0.875,
    "recall": 1.0,
    "false_positive_rate": 1.0,
    "false_negative_rate": 0.0,
    "f1": 28 / 30,
}


def _figures(found: Any, names: Any) -> dict[str, float]:
    return {name: found.figure(name) for name in names}


@pytest.mark.parametrize(
    "names", [("label", "predicted"), ("y_true", "y_pred"), ("label", "prediction")]
)
@pytest.mark.parametrize("ids", [True, False])
def test_10_every_rate_comes_out(
    evaluate: Callable[..., Any], names: tuple[str, str], ids: bool
) -> None:
    rows = [
        {**({"id": n} if ids else {}), names[0]: truth, names[1]: said}
        for n, (truth, said) in enumerate(PAIRS)
    ]

    found = evaluate(rows)

    assert found.code == 0, found.stderr
    assert found.report["failed_rows"] == 0
    assert _figures(found, FIGURES) == pytest.approx(FIGURES)


@pytest.mark.parametrize(
    ("yes", "no"), [(1, 0), (True, False), ("1", "0"), (1.0, 0.0), ("yes", "no"), ("是", "否")]
)
def test_10_of_two_classes_the_rates_of_the_positive_one_need_no_name(
    evaluate: Callable[..., Any], yes: object, no: object
) -> None:
    rows = [{"label": yes if n not in (6, 14) else no, "predicted": yes} for n in range(16)]

    assert _figures(evaluate(rows), BINARY) == pytest.approx(BINARY)


def test_10_a_column_of_numbers_with_gaps_has_the_classes_of_one_without(
    evaluate: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("label,predicted\n1.0,1\n0.0,0\n,\n1.0,0\n", encoding="utf-8")

    found = evaluate(path)

    assert found.figure("accuracy") == pytest.approx(2 / 3)
    assert found.figure("recall/1") == 0.5


def test_10_a_table_of_labels_is_enough(evaluate: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("label", "predicted"), *PAIRS])

    assert _figures(evaluate(path), FIGURES) == pytest.approx(FIGURES)


@pytest.mark.parametrize(
    ("bounds", "met"),
    [
        ({"accuracy": ("at_least", 0.9), "recall/spam": ("at_least", 0.9)}, [True, False]),
        ({"false_positive_rate/spam": ("at_most", 0.05)}, [True]),
        ({"false_negative_rate/spam": ("at_most", 0.05)}, [False]),
        ({"macro_f1": ("at_least", 0.8), "f1/ham": ("at_least", 0.9)}, [True, True]),
    ],
)
def test_10_every_rate_can_have_a_target(
    evaluate: Callable[..., Any],
    targets: Callable[..., Any],
    bounds: dict[str, Any],
    met: list[bool],
) -> None:
    rows = [{"label": truth, "predicted": said} for truth, said in PAIRS]

    found = evaluate(rows, *targets(**bounds), "--fail-under")

    assert list(found.targets.values()) == met
    assert found.code == int(not all(met))


def test_10_a_class_that_no_row_has_fails_the_gate_and_the_nearest_is_named(
    evaluate: Callable[..., Any], targets: Callable[..., Any]
) -> None:
    rows = [{"label": truth, "predicted": said} for truth, said in PAIRS]
    wanted = {"accuracy": ("at_least", 0.5), "recall/spamm": ("at_least", 0.5)}

    found = evaluate(rows, *targets(**wanted), "--fail-under")

    assert found.code == 1
    assert "recall/spamm (did you mean 'recall/spam'?)" in found.stderr


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("Accuracy 0.950", "FPR", "FNR")), ("zh", ("准确率 0.950", "误报率", "漏报率"))],
)
def test_10_the_terminal_shows_them(
    command: Callable[..., Any], write: Callable[..., Path], language: str, words: tuple[str, ...]
) -> None:
    path = write("rows.jsonl", [{"label": truth, "predicted": said} for truth, said in PAIRS])

    done = command("evaluate", path, "--language", language)

    assert done.exit_code == 0
    assert all(word in done.stdout for word in words)


def test_10_a_row_with_neither_text_nor_label_is_still_named(
    evaluate: Callable[..., Any],
) -> None:
    found = evaluate([{"label": "a", "predicted": "a"}, {"note": "nothing"}])

    assert found.report["failed_rows"] == 1
    assert "row 2: a trace needs a `question` and an `answer`" in found.stderr


def test_10_labels_only(evaluate: Callable[..., Any], shared_case: Callable[[str], Path]) -> None:
    found = evaluate(shared_case("10_labels_only.jsonl"))

    assert found.code == 0
    assert _figures(found, BINARY) == pytest.approx(BINARY)
    assert found.figure("recall/0") == 0.0
