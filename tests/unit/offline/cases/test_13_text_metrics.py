"""Text metrics hold their textbook values, and an answer without tokens is 0 with all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ALL = "bleu_1,bleu_4,rouge_1,rouge_2,rouge_l,meteor,exact_match,token_f1,character_f1"


def _scores(found: Any) -> dict[str, dict[str, float]]:
    return {line["id"]: line["scores"] for line in found.lines}


@pytest.mark.parametrize("answer", ["", "  ", "。。。", "?!", "——"])
@pytest.mark.parametrize("reference", ["a reply", "一个回答"])
def test_13_an_answer_without_tokens_is_nothing_with_every_measure(
    evaluate: Callable[..., Any], answer: str, reference: str
) -> None:
    row = {"id": "a", "question": "q", "answer": answer, "reference": reference}

    found = evaluate([row], "--judge", "none")

    assert set(found.lines[0]["scores"].values()) == {0.0}
    assert found.report["corpus"]["corpus_bleu_4"]["value"] == 0.0


def test_13_an_answer_that_is_withheld_is_not_measured(evaluate: Callable[..., Any]) -> None:
    rows = [
        {"id": "a", "question": "q", "answer": None, "reference": "a reply"},
        {"id": "b", "question": "q", "answer": "a reply", "reference": "a reply"},
    ]

    found = evaluate(rows, "--judge", "none")

    assert set(found.lines[0]["not_applicable"].values()) == {"no_answer"}
    assert found.mean("bleu_4") == 1.0


@pytest.mark.parametrize(
    ("answer", "reference", "precision", "recall"),
    [
        ("库存同比减少5%", "库存减少5%", 3 / 4, 1.0),
        ("the fox ran home", "the red fox ran", 3 / 4, 3 / 4),
        ("ran", "the red fox ran", 1.0, 1 / 4),
        ("nothing alike", "the red fox ran", 0.0, 0.0),
    ],
)
def test_13_rouge_has_its_precision_and_recall(
    evaluate: Callable[..., Any],
    targets: Callable[..., Any],
    answer: str,
    reference: str,
    precision: float,
    recall: float,
) -> None:
    row = {"id": "a", "question": "q", "answer": answer, "reference": reference}
    bounds = {
        "rouge_l_recall": ("at_least", recall),
        "rouge_l_precision": ("at_least", precision + 0.01),
    }

    found = evaluate([row], "--judge", "none", *targets(**bounds))

    assert found.mean("rouge_l_precision") == pytest.approx(precision)
    assert found.mean("rouge_l_recall") == pytest.approx(recall)
    assert found.targets == {"rouge_l_recall": True, "rouge_l_precision": False}


def test_13_key_terms_weigh_more(evaluate: Callable[..., Any], tmp_path: Path) -> None:
    terms = tmp_path / "key.txt"
    terms.write_text("营收 3\nnet income 5\n", encoding="utf-8")
    rows = [
        {"id": "with", "question": "q", "answer": "营收", "reference": "营收 增长"},
        {"id": "without", "question": "q", "answer": "增长", "reference": "营收 增长"},
        {"id": "two", "question": "q", "answer": "net income", "reference": "Net income rose"},
    ]
    named = ("--judge", "none", "--metrics", "rouge_1_recall")

    plain = _scores(evaluate(rows, *named))
    found = evaluate(rows, *named, "--key-terms", terms)
    weighed = _scores(found)

    assert plain["with"]["rouge_1_recall"] == plain["without"]["rouge_1_recall"] == 0.5
    assert weighed["with"]["rouge_1_recall"] == pytest.approx(3 / 4)
    assert weighed["without"]["rouge_1_recall"] == pytest.approx(1 / 4)
    assert weighed["two"]["rouge_1_recall"] == pytest.approx(5 / 6)
    assert found.lines[0]["settings"] != evaluate(rows, *named).lines[0]["settings"]


def test_13_text_metrics(evaluate: Callable[..., Any], shared_case: Callable[[str], Path]) -> None:
    found = evaluate(shared_case("13_text_metrics.jsonl"), "--judge", "none", "--metrics", ALL)
    scores = _scores(found)

    assert [set(scores[row].values()) for row in ("t11", "t13")] == [{0.0}, {0.0}]
    assert set(found.lines[11]["not_applicable"].values()) == {"no_reference"}
    assert scores["t2"]["bleu_1"] == pytest.approx(2 / 7)
    assert scores["t4"]["bleu_1"] == pytest.approx(math.exp(-5))
    assert scores["t5"]["bleu_4"] == pytest.approx(0.5046, abs=1e-4)
    for same in ("t1", "t3", "t8", "t9", "t16", "t17", "t19", "t20", "t22"):
        assert scores[same]["exact_match"] == 1.0
        assert scores[same]["bleu_4"] == pytest.approx(1.0)
        assert scores[same]["rouge_l"] == 1.0
    assert max(value for row in scores.values() for value in row.values() if value) <= 1.0
