"""Rows of a workbook are rows like any other."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.errors import ConfigurationError
from rag_monitor.offline.rows import BadRow, Row, read_rows

ROWS = [
    {"id": 1, "question": "When?", "answer": "At nine.", "contexts": '["It leaves at nine."]'},
    {"id": "b", "question": "几点？", "answer": "九点。", "contexts": "九点开船。"},
]


@pytest.fixture
def book(tmp_path: Path) -> Callable[..., Path]:
    openpyxl = pytest.importorskip("openpyxl", reason="workbooks need openpyxl")

    def save(*rows: Any, name: str = "rows.xlsx") -> Path:
        made = openpyxl.Workbook()
        for row in rows:
            made.active.append(row)
        made.create_sheet("notes").append(["not read"])
        path = tmp_path / name
        made.save(path)
        return path

    return save


def test_a_workbook_is_read_like_a_table(book: Callable[..., Path]) -> None:
    path = book(list(ROWS[0]), *(list(row.values()) for row in ROWS))

    rows = [row.fields for row in read_rows(path) if isinstance(row, Row)]

    assert [row["id"] for row in rows] == [1, "b"]
    assert [row["contexts"] for row in rows] == [["It leaves at nine."], ["九点开船。"]]


def test_titles_are_read_in_any_case_and_times_and_empty_cells_as_what_they_are(
    book: Callable[..., Path],
) -> None:
    titles = ["User Input", "Response", None, "started_at", "End_To_End_MS", "label"]
    moment = datetime(2026, 3, 1, 12, 30)  # noqa: DTZ001 - as a workbook holds it
    path = book(
        [], titles, ["q", None, None, moment, 250, True], [None] * 6, ["q", 4, 5, None, 1, 0]
    )

    first, second = read_rows(path)

    assert isinstance(first, Row)
    assert first.fields["question"] == "q"
    assert "answer" not in first.fields
    assert first.fields["started_at"] == "2026-03-01T12:30:00"
    assert first.fields["timings"] == {"end_to_end_ms": 250}
    assert isinstance(second, BadRow)
    assert "more cells than the header has columns" in second.reason


def test_a_workbook_is_evaluated(evaluate: Callable[..., Any], book: Callable[..., Path]) -> None:
    path = book(list(ROWS[0]), *(list(row.values()) for row in ROWS))

    found = evaluate(path, "--metrics", "faithfulness")

    assert found.mean("faithfulness") > 0.9


def test_what_is_no_workbook_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="workbooks need openpyxl")
    for content in (b"", b"question,answer\nq,a\n", b"PK\x03\x04 broken"):
        path = tmp_path / "rows.xlsx"
        path.write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"cannot read .*rows\.xlsx as a workbook"):
            list(read_rows(path))


def test_an_old_workbook_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "rows.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0")

    with pytest.raises(ConfigurationError, match=r"save it as \.xlsx or \.csv"):
        list(read_rows(path))


def test_without_openpyxl_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.xlsx"
    path.write_bytes(b"PK\x03\x04")
    known = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "openpyxl":
            raise ImportError(name)
        return known(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)

    with pytest.raises(ConfigurationError, match=r"need openpyxl: .*\[xlsx\]"):
        list(read_rows(path))


def test_rows_of_json_lines_are_not_touched_by_workbooks(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROWS[1]), encoding="utf-8")

    (row,) = read_rows(path)

    assert isinstance(row, Row)
