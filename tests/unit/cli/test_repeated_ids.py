"""Rows of a file that are one trace to the monitor are no silent loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.cli.import_ import RepeatedIds
from rag_monitor.cli.replay import BadRow, Outcome, looked_at
from tests.unit.cli.test_commands import FakeMonitor, monitor, run

__all__ = ["monitor"]


def _repeated(*rows: dict[str, Any] | None) -> list[int]:
    outcome = Outcome()
    given = [
        (n, row) if row is not None else BadRow(n, "broken") for n, row in enumerate(rows, start=1)
    ]
    assert list(looked_at(given, RepeatedIds(outcome).look)) == given
    return outcome.repeated_ids.first


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": "1", "answer": "a"}, {"id": "1", "answer": "b"}],
        [{"id": "1"}, {"id": 1}],
        [{"id": "1", "app": "faq"}, {"id": "1", "app": " faq "}],
        [{"question": "q", "answer": "a"}, {"answer": "a", "question": "q"}],
        [{"trace_id": "x", "id": "1"}, {"trace_id": "x", "id": "2"}],
    ],
)
def test_one_trace_in_two_rows_is_noticed(rows: list[dict[str, Any]]) -> None:
    assert _repeated(*rows) == [2]


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": "1", "app": "faq"}, {"id": "1", "app": "desk"}],
        [{"question": "q", "answer": "a"}, {"question": "q", "answer": "b"}],
        [{"id": True}, {"id": True}],
        [None, None],
    ],
)
def test_two_traces_in_two_rows_are_no_repetition(rows: list[dict[str, Any] | None]) -> None:
    assert _repeated(*rows) == []


def test_import_counts_and_names_rows_that_came_before(
    monitor: FakeMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    lines = [{"id": "1", "question": "q", "answer": answer} for answer in "abc"]
    file.write_text("\n".join(map(json.dumps, lines)))
    monitor.answers["POST", "/api/v1/traces"] = (200, {"accepted": 3})

    assert run("import", str(file), "--url", monitor.url) == 0
    said = capsys.readouterr()
    assert run("import", str(file), "--url", monitor.url, "--json") == 0
    report = json.loads(capsys.readouterr().out)

    assert "rows whose id came before in the file: 2" in said.err
    assert "line 2, 3" in said.err
    assert "repeated_ids    2" in said.out
    assert (report["accepted"], report["repeated_ids"]) == (3, 2)
    assert report["repeated_ids_first"] == [2, 3]
