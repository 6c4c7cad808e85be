"""Every snippet of the READMEs is run, or checked as far as it can be without a network."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.cli import main
from tests.otlp_sink import OtlpSink

ROOT = Path(__file__).resolve().parents[2]
READMES = ("README.md", "README.zh.md")
_FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_TRACE_FIELDS = {"id", "app", "question", "contexts", "answer", "timings", "hits"}


def _snippets(language: str) -> Iterator[Any]:
    for name in READMES:
        found = _FENCE.findall((ROOT / name).read_text(encoding="utf-8"))
        for number, (kind, text) in enumerate(found):
            if kind == language:
                yield pytest.param(text, id=f"{name}-{number}")


def _command_lines() -> Iterator[Any]:
    for snippet in _snippets("bash"):
        text = snippet.values[0]
        words = shlex.split(text) if text.startswith("curl") else None
        for number, line in enumerate([words] if words else map(shlex.split, text.splitlines())):
            yield pytest.param(line, id=f"{snippet.id}-{number}")


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpSink]:
    with OtlpSink() as listening:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", listening.url)
        yield listening
        rm.shutdown()


def test_only_known_kinds_of_snippets_are_used() -> None:
    kinds = {k for name in READMES for k, _ in _FENCE.findall((ROOT / name).read_text("utf-8"))}

    assert kinds == {"python", "bash"}


@pytest.mark.parametrize("snippet", list(_snippets("python")))
async def test_python_snippets_run_and_are_captured(snippet: str, sink: OtlpSink) -> None:
    if "rm.configure" not in snippet:
        rm.configure(app="readme")
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(snippet, "README", "exec"), names)  # noqa: S102 - our own text
    if "async def answer" in snippet:
        _ = [chunk async for chunk in names["answer"]("What is the mortgage rate?")]

    assert rm.flush(5.0)
    (record,) = sink.records
    assert record["question"]
    assert record["answer"]
    assert record["retrievals"][0]["documents"]
    assert record["timings"]["first_byte_ms"] > 0


@pytest.mark.parametrize("words", list(_command_lines()))
def test_commands_exist_as_written(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    checks = {"rag-monitor": _check_ours, "pip": _check_pip, "make": _check_make}
    if words[0] == "curl":
        body = json.loads(words[words.index("-d") + 1])
        assert set(body) == _TRACE_FIELDS
    else:
        checks[words[0]](words[1:], capsys)


def _check_ours(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    depth = 2 if words[0] in ("rules", "keys") else 1
    with pytest.raises(SystemExit) as ended:
        main([*words[:depth], "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert [word for word in words if word.startswith("--") and word not in shown] == []


def _check_pip(words: list[str], _: object) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = re.findall(r"\[(\w+)\]", words[-1])

    assert words[0] == "install"
    assert words[-1].partition("[")[0] == project["name"]
    assert set(extras) <= set(project["optional-dependencies"])


def _check_make(words: list[str], _: object) -> None:
    assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    "name", [*READMES, "CONTRIBUTING.md", "docs/metrics.md", "docs/concepts.md"]
)
def test_links_inside_the_project_lead_somewhere(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_both_readmes_explain_the_same_numbers() -> None:
    tables = [
        re.findall(r"^\| (`\w+`(?:[,、] ?`\w+`)*)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
        for name in READMES
    ]
    english, chinese = ([re.findall(r"`(\w+)`", row) for row in table] for table in tables)

    assert english == chinese
