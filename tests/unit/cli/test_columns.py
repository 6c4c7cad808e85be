"""`--columns`: what a file calls its columns, and what is said when nobody told us."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_monitor.errors import MalformedPayload
from rag_monitor.ingest.trace_json import decode_trace
from tests.unit.cli.test_commands import FakeMonitor, monitor, run

__all__ = ["monitor"]

NAMED = "编号=id,问题=question,回答=answer,标注=label_faithful,上下文=contexts"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with Chinese columns; one row of it is faithful, one is not."""
    file = tmp_path / "rows.csv"
    rows = (
        "编号,问题,回答,标注,上下文\n1,保修多久?,24 个月,1,保修 24 个月\n2,保修多久?,一年,0,两年\n"
    )
    file.write_text(rows, encoding="utf-8")
    return file


def test_evaluate_reads_the_cells_of_named_columns(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("evaluate", str(table), "--columns", NAMED, "--judge", "embedded-lexical", "--json")
    assert run(*command) == 0

    report = json.loads(capsys.readouterr().out)
    assert (report["rows"], report["failed_rows"], report["errors"]) == (2, 0, [])
    assert report["reliability"]["n"] == 2


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_import_knows_columns_by_what_they_are_named(
    kind: str, table: Path, tmp_path: Path, monitor: FakeMonitor
) -> None:
    lines = tmp_path / "rows.jsonl"
    row = {
        "编号": "1",
        "问题": "保修多久?",
        "回答": "24 个月",
        "标注": 1,
        "上下文": ["保修 24 个月"],
    }
    lines.write_text(json.dumps(row), encoding="utf-8")
    monitor.answers["POST", "/api/v1/traces"] = (200, {"accepted": 1})

    file = table if kind == "csv" else lines
    assert run("import", str(file), "--columns", NAMED, "--url", monitor.url) == 0

    ((_, _, body),) = monitor.requests
    assert body[0] == {
        "id": "1",
        "question": "保修多久?",
        "answer": "24 个月",
        "contexts": ["保修 24 个月"],
    }


def test_columns_of_another_tools_export_are_known(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("import", str(table), "--format", "phoenix", "--columns", "a=b") == 2
    assert "leave --columns out" in capsys.readouterr().err


def test_a_row_without_question_and_answer_is_told_what_it_has() -> None:
    with pytest.raises(MalformedPayload, match=r"this one has `问题`, `二 行`$"):
        decode_trace({"问题": "q", "二\n行": "a"})
    with pytest.raises(MalformedPayload, match=r"this one has no field$"):
        decode_trace({})
    with pytest.raises(MalformedPayload, match=r"`f19` and 80 more$"):
        decode_trace({f"f{n}": n for n in range(100)})
