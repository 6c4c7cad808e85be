"""What the READMEs show is captured whole, and both say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rag_monitor as rm
from tests.otlp_sink import OtlpSink

ROOT = Path(__file__).resolve().parents[2]
READMES = ("README.md", "README.zh.md")
_FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def _snippets(language: str) -> Iterator[Any]:
    for name in READMES:
        found = _FENCE.findall((ROOT / name).read_text(encoding="utf-8"))
        for number, (kind, text) in enumerate(found):
            if kind == language:
                yield pytest.param(text, id=f"{name}-{number}")


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


def test_both_readmes_explain_the_same_numbers() -> None:
    tables = [
        re.findall(r"^\| (`\w+`(?:[,、] ?`\w+`)*)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
        for name in READMES
    ]
    english, chinese = ([re.findall(r"`(\w+)`", row) for row in table] for table in tables)

    assert english == chinese
