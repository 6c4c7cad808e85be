"""The example judge of docs/judges.md works as printed: as a class, and from another package."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_monitor.cli.application import app
from rag_monitor.domain.judgement import Aspect
from rag_monitor.judges import registry
from rag_monitor.judges.judge import Judge
from tests.unit.judges.requests import warranty

PAGE = Path(__file__).resolve().parents[2] / "docs" / "judges.md"
PAGE_TEXT = PAGE.read_text(encoding="utf-8")


def example() -> str:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE_TEXT, re.DOTALL)
    return str(source)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package as pip lays it out, with the entry point that the page prints."""
    (table,) = re.findall(r"```toml\n(\[project\.entry-points.*?)```", PAGE_TEXT, re.DOTALL)
    group, entry = re.search(r'entry-points\."(.+?)"\]\n(.+)', table).groups()  # type: ignore[union-attr]
    (tmp_path / "word_judge.py").write_text(example(), encoding="utf-8")
    information = tmp_path / "word_judge-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: word-judge\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{group}]\n{entry.replace(chr(34), '')}\n")
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_example_is_about_twenty_lines() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= 20


async def test_the_example_judge_judges() -> None:
    names: dict[str, Any] = {}
    exec(compile(example(), str(PAGE), "exec"), names)  # noqa: S102 - our own page
    judge = names["WordJudge"]({})

    judgement = await judge.judge(warranty(aspects=frozenset(Aspect)))

    assert isinstance(judge, Judge)
    assert 0.0 < judgement.of(Aspect.ANSWER_SUPPORTED)[0].probability <= 1.0
    assert set(judgement.missing) == set(Aspect) - judge.aspects


@pytest.mark.usefixtures("installed")
def test_another_package_adds_it_by_entry_point(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    row = {"id": "1", "question": "How long?", "contexts": ["24 months"], "answer": "24 months"}
    rows.write_text(json.dumps(row), encoding="utf-8")
    output = tmp_path / "scores.jsonl"
    command = ["evaluate", str(rows), "--judge", "words", "--metrics", "answer_supported"]

    done = CliRunner().invoke(app, [*command, "--output", str(output)])

    assert done.exit_code == 0, done.output
    assert "words" in registry.names()
    assert json.loads(output.read_text(encoding="utf-8"))["scores"] == {"answer_supported": 1.0}
