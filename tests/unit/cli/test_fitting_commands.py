"""`agreement`, `calibrate` and `distil` on a table whose columns have names of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rag_monitor.cli.application import app

NAMED = "提问原文=question,答复原文=answer,人工判断=label_faithful,资料原文=contexts"
ROWS = 140


def rows(number: int = ROWS) -> list[dict[str, object]]:
    """Faithful and unfaithful by turns, each of a source of its own."""
    return [
        {
            "提问原文": f"How long is the warranty of item {n}?",
            "答复原文": f"The warranty of item {n} lasts {24 if n % 2 else 60} months.",
            "人工判断": n % 2,
            "资料原文": [f"The warranty of item {n} lasts 24 months."],
        }
        for n in range(number)
    ]


def written(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", rows())


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def calibrate(table: Path, *more: object) -> Result:
    output = table.with_name("calibration.json")
    command = ("calibrate", table, "--judge", "embedded-lexical", "--output", output)
    return run(*command, "--columns", NAMED, *more)


def distil(table: Path, *more: object) -> Result:
    config = table.with_name("rag_monitor.toml")
    config.write_text(
        '[judges.teacher]\nkind = "ensemble"\nmembers = ["embedded-lexical", "embedded"]\n'
    )
    command = ("distil", table, "--judge", "teacher", "--lexical", "--config", config)
    output = table.with_name("weights.json")
    return run(*command, "--output", output, "--columns", NAMED, *more)


def test_agreement_reads_named_columns(table: Path) -> None:
    command = ("agreement", table, "--judge", "embedded-lexical", "--columns", NAMED, "--json")
    done = run(*command)

    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["judged"], found["unfaithful"]) == (ROWS, ROWS // 2)


def test_calibrate_reads_named_columns(table: Path) -> None:
    done = calibrate(table, "--json")

    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["rows"], found["faithful"]) == (ROWS, ROWS // 2)


def test_distil_reads_named_columns(table: Path) -> None:
    done = distil(table, "--json")

    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["rows"], found["answers"], found["en"]["learnt"]) == (ROWS, ROWS, True)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("labelled rows 140", "Calibration error", "Before", "use it with: [judges.")),
        ("zh", ("标注行 140", "校准误差", "之前", "使用方法：[judges.")),
    ],
)
def test_a_calibration_is_told_in_the_language(
    language: str, words: tuple[str, ...], table: Path
) -> None:
    done = calibrate(table, "--language", language)

    assert done.exit_code == 0, done.output
    assert "{" not in done.output
    assert "ece" not in done.output
    assert all(word in done.output for word in words), done.output


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("rows 140, answers 140", "English", "Before", "too few answers")),
        ("zh", ("行数 140，回答 140", "英文", "之前", "两类回答不够")),
    ],
)
def test_what_was_distilled_is_told_in_the_language(
    language: str, words: tuple[str, ...], table: Path
) -> None:
    done = distil(table, "--language", language)

    assert done.exit_code == 0, done.output
    assert "{" not in done.output
    assert all(word in done.output for word in words), done.output


def test_rows_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    broken: list[dict[str, object]] = [{"人工判断": 1}, {**rows(1)[0], "人工判断": "yes"}]
    table = written(tmp_path / "rows.jsonl", [*rows(20), *broken])
    command = ("agreement", table, "--judge", "embedded-lexical")

    done = run(*command, "--columns", NAMED)
    assert done.exit_code == 0, done.output
    assert "row 21" in done.stderr
    assert "left out because they cannot be read: 2 of 22 rows" in done.stderr

    unnamed = run(*command)
    assert unnamed.exit_code != 0
    assert "this one has `提问原文`, `答复原文`, `人工判断`, `资料原文`" in unnamed.stderr
    assert f"none of the 22 rows of {table} could be read" in str(unnamed.exception)
