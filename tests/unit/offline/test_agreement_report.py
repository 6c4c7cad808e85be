"""What `rag-monitor agreement` shows people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Rows of both languages and both classes, enough of English for figures of its own."""
    path = tmp_path / "labelled.jsonl"
    rows = [
        {
            "question": f"How long is warranty {n}?",
            "contexts": ["The warranty is 24 months.", "Returns take 30 days."],
            "answer": "The warranty is 24 months." if n % 2 else "The warranty is 36 months.",
            "label_faithful": n % 2,
        }
        for n in range(20)
    ]
    rows += [
        {"question": "保修?", "contexts": ["保修 24 个月"], "answer": answer, "label_faithful": 1}
        for answer in ("保修 24 个月。", "24 个月。")
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def _told(file: Path, *more: str) -> str:
    command = ["agreement", str(file), "--judge", "embedded-lexical", "--bias", *more]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return done.stdout


def _line(text: str, start: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return line.removeprefix(start).split()


@pytest.mark.parametrize(
    ("language", "interval", "order", "asked"),
    [
        ("en", "95% interval", "Order and length bias", "Rows judged in both orders"),
        ("zh", "95% 置信区间", "顺序与长度偏差", "两种顺序都评审的行"),
    ],
)
def test_figures_are_lines_of_a_table_in_the_language(
    language: str, interval: str, order: str, asked: str, labelled: Path
) -> None:
    figures = json.loads(_told(labelled, "--json"))

    told = _told(labelled, "--language", language)

    assert "{" not in told
    assert interval in told
    assert order in told
    assert _line(told, "AUROC  ")[0] == f"{figures['auroc']['value']:.3f}"
    assert _line(told, asked) == [str(figures["position_asked"])]
    assert _line(told, "en ")[:2] == ["20", "10"]
    assert _line(told, "zh ") == ["2", "0"]
    assert "None" not in told


def test_every_figure_has_words_in_both_languages(labelled: Path) -> None:
    names = {"balanced_accuracy", "kappa", "ece", "position_", "length_", "by_lang", "by_task"}

    for language in ("en", "zh"):
        told = _told(labelled, "--language", language)
        assert not {name for name in names if name in told}
