"""`rag-monitor compare`: the table, its JSON, and reports as files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rag_monitor.cli.application import app

GOOD = "保修24个月"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def scored(path: Path, question: str = "which warranty?", wrong: str | None = None) -> Path:
    """Six rows scored without a judge, of which that one is wrong."""
    rows = [
        {
            "id": f"r{n}",
            "question": question,
            "answer": "wrong" if f"r{n}" == wrong else GOOD,
            "reference": GOOD,
        }
        for n in range(6)
    ]
    source = path.with_name(f"rows-{path.stem}.jsonl")
    source.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    done = run("evaluate", source, "--judge", "none", "--output", path)
    assert done.exit_code == 0, done.output
    return path


def test_what_got_worse_is_listed_with_its_question(tmp_path: Path) -> None:
    a, b = scored(tmp_path / "a.jsonl"), scored(tmp_path / "b.csv", wrong="r3")

    table = run("compare", a, b)
    figures = json.loads(run("compare", a, b, "--json").stdout)

    assert table.exit_code == 0, table.output
    assert "Worst regressions" in table.stdout
    assert "which warranty?" in " ".join(table.stdout.split())
    assert figures["rows"] == 6
    assert {(lost["id"], lost["question"]) for lost in figures["regressions"]} == {
        ("r3", "which warranty?")
    }
    assert run("compare", b, b, "--fail-on-loss").exit_code == 0


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (".html", "which &lt;script&gt; &amp; |cell|?"),
        (".md", r"which \<script\> \& \|cell\|?"),
        (".json", "which <script> & |cell|?"),
    ],
)
def test_a_comparison_is_written_as_a_report(tmp_path: Path, kind: str, shown: str) -> None:
    asked, report = "which <script> & |cell|?", tmp_path / f"report{kind}"
    a, b = scored(tmp_path / "a.jsonl", asked), scored(tmp_path / "b.jsonl", asked, wrong="r3")

    done = run("compare", a, b, "--report", report, "--language", "zh")
    text = report.read_text("utf-8")

    assert done.exit_code == 0, done.output
    assert shown in text
    assert kind != ".html" or "<script" not in text
    assert kind == ".json" or "两次评测的对比" in text


def test_a_report_does_not_replace_what_is_compared(tmp_path: Path) -> None:
    a = scored(tmp_path / "a.jsonl")
    before = a.read_bytes()

    refused = [
        run("compare", a, a, "--report", report)
        for report in (a, tmp_path / "report.pdf", tmp_path / "none" / "report.md")
    ]

    assert [done.exit_code for done in refused] == [1, 1, 1]
    assert a.read_bytes() == before
