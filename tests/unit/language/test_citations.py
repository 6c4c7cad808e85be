"""Citations are read in the forms in which products and people write them, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from rag_monitor.language.attribution import attribute
from rag_monitor.language.sources import Source

_LINES: Final = (Path(__file__).parent / "citation_cases.jsonl").read_text(encoding="utf-8")
CASES: Final[list[dict[str, Any]]] = [json.loads(line) for line in _LINES.splitlines()]
LEAST_RIGHT: Final = 0.95


def _sources(case: dict[str, Any]) -> list[Source]:
    names = case.get("names") or [[]] * case["passages"]
    labels = case.get("labels") or [None] * case["passages"]
    return [Source(label, tuple(own)) for label, own in zip(labels, names, strict=True)]


def cited(case: dict[str, Any]) -> list[list[Any]]:
    """Each statement with citations and what it cites; 0: a passage that there is not."""
    found = attribute(case["answer"], lambda: _sources(case))
    if found is None:
        return []
    return [
        [
            statement.span.text,
            sorted(
                passage + 1
                for number in statement.citations
                for passage in found.citations[number].passages or (-1,)
            ),
        ]
        for statement in found.statements
        if statement.citations
    ]


def is_right(case: dict[str, Any]) -> bool:
    """Whether exactly the written statements cite exactly the written passages."""
    found, expected = cited(case), case["cites"]
    return len(found) == len(expected) and all(
        text.startswith(begins) and numbers == sorted(wanted)
        for (text, numbers), (begins, wanted) in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("cites", [True, False])
def test_written_cases_are_read_right(language: str, cites: bool) -> None:
    cases = [c for c in CASES if c["lang"] == language and bool(c["cites"]) is cites]
    wrong = [(c["answer"], c["cites"], cited(c)) for c in cases if not is_right(c)]
    assert len(wrong) <= (1 - LEAST_RIGHT) * len(cases), wrong


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 200
