"""What people marked in the pages counts as a label, and nothing else they marked."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.errors import RagMonitorError
from rag_monitor.judges.embedded import EmbeddedJudge, create
from rag_monitor.offline.labelled import read_labelled


def mark(value: float, metric: str | None = "faithfulness", **more: Any) -> dict[str, Any]:
    return {"metric": metric, "value": value, "statement": None, **more}


@pytest.mark.parametrize(
    ("marks", "faithful"),
    [
        ([mark(1.0)], True),
        ([mark(0.0)], False),
        ([mark(0.0, "answer_supported")], False),
        ([mark(1.0), mark(0.0)], None),
        ([mark(1.0), mark(1.0), mark(0.0)], True),
        ([mark(0.5)], None),
        ([mark(1.0), mark(0.0, statement=2)], False),
        ([mark(1.0, statement=0)], None),
        ([mark(0.0, "answer_relevance"), mark(0.0, None)], None),
        ([], None),
        ("many", None),
        ([7, {"metric": "faithfulness", "value": "good"}], None),
    ],
)
def test_marks_on_faithfulness_are_labels(
    tmp_path: Path, marks: object, faithful: bool | None
) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"question": "q", "answer": "a", "feedback": marks}
    path.write_text(json.dumps(row), encoding="utf-8")

    [found] = read_labelled(path)

    assert found.faithful is faithful


def test_a_label_in_the_row_wins_over_marks(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"question": "q", "answer": "a", "label_faithful": 1, "feedback": [mark(0.0)]}
    path.write_text(json.dumps(row), encoding="utf-8")

    [found] = read_labelled(path)

    assert found.faithful is True


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"id": "q-1"}, "q-1"),
        ({"id": 0}, "0"),
        ({"id": ""}, "#1"),
        ({"id": " "}, "#1"),
        ({"id": None, "trace_id": "f" * 32}, "f" * 32),
        ({}, "#1"),
    ],
)
def test_a_row_is_called_by_its_own_id(tmp_path: Path, fields: dict[str, Any], name: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"question": "q", "answer": "a", **fields}), encoding="utf-8")

    [found] = read_labelled(path)

    assert found.row.id == name


@pytest.mark.parametrize("label", [1, True, 1.0])
def test_a_label_may_be_any_spelling_of_one(tmp_path: Path, label: object) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"question": "q", "answer": "a", "label_faithful": label, "context_labels": [label]}
    path.write_text(json.dumps(row), encoding="utf-8")

    [found] = read_labelled(path)

    assert found.faithful is True
    assert found.row.trace is not None
    assert found.row.trace.expected is not None
    assert found.row.trace.expected.context_labels == (1,)


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Lines as `rag-monitor export` writes them; people are stricter than the shipped judge."""
    draw = random.Random(5)
    path = tmp_path / "marked.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for number in range(120):
            hour = draw.randrange(1, 12)
            good = number % 2 == 0
            said = hour if good else hour + 1
            row = {
                "trace_id": f"{number:032x}",
                "question": f"When does ship {number} sail?",
                "answer": f"Ship {number} sails at {said} o'clock from the old pier.",
                "contexts": [{"content": f"Ship {number} sails at {hour} o'clock from the pier."}],
                "feedback": [mark(1.0 if good else 0.0)],
            }
            lines.write(json.dumps(row) + "\n")
        lines.write(json.dumps({"question": "q", "answer": "nobody marked this"}) + "\n")
    return path


def test_marks_are_enough_to_calibrate_the_judge(exported: Path, tmp_path: Path) -> None:
    output = tmp_path / "calibration.json"

    done = CliRunner().invoke(
        app, ["calibrate", str(exported), "--output", str(output), "--method", "platt", "--json"]
    )

    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["rows"] == 120
    assert figures["held_out"]["brier"] < figures["brier_of_base_rate"]
    assert figures["judge"] == str(EmbeddedJudge().identity)
    judge = create({"calibration": str(output)})
    assert judge.identity.calibration == figures["version"]


def test_rows_nobody_marked_are_refused_with_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"question": "q", "answer": "a"}), encoding="utf-8")

    done = CliRunner().invoke(app, ["calibrate", str(path)])

    assert isinstance(done.exception, RagMonitorError)
    assert "marks on faithfulness" in str(done.exception)


def test_a_misspelled_kind_among_the_expected_hits_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"plugin": ["a"], "workflow": []}, {"plugins": ["a"]}, {"plugins": None}]
    path.write_text(
        "".join(json.dumps({"question": "q", "answer": "a", "expected": e}) + "\n" for e in rows)
    )

    fine, misspelled, empty = read_labelled(path)

    assert fine.row.error is None
    assert empty.row.error is None
    assert misspelled.row.trace is None
    assert misspelled.row.error == (
        "row 2: `expected.plugins` is no kind of hit (did you mean 'plugin'?);"
        " there are plugin, knowledge_base, workflow"
    )
