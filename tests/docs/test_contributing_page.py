"""CONTRIBUTING.md agrees with the code: its layers are the contract's, the files it names exist."""

from __future__ import annotations

import re
import tomllib

from tests.docs.pages import ROOT, text_of

PAGE = "CONTRIBUTING.md"
_FILE = re.compile(r"`([\w/.-]+\.(?:py|json|toml|md|po))`")


def section(heading: str) -> str:
    """The text below a heading, up to the next one."""
    return text_of(PAGE).partition(f"## {heading}\n")[2].partition("\n## ")[0]


def layers_of_the_contract() -> list[str]:
    """The layers of `pyproject.toml`, highest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = [
        one for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers"
    ]
    return list(contract["layers"])


def test_the_layers_are_those_of_the_import_contract() -> None:
    paragraphs = section("Layers").split("\n\n")
    (line,) = [paragraph for paragraph in paragraphs if "→" in paragraph]

    assert [part.strip().strip("`") for part in line.split("→")] == layers_of_the_contract()


def test_every_file_named_exists() -> None:
    named = set(_FILE.findall(text_of(PAGE)))

    assert len(named) >= 50
    assert {
        name
        for name in named
        if not any((top / name).exists() for top in (ROOT, ROOT / "rag_monitor"))
    } == set()


def test_every_journey_and_question_names_a_file() -> None:
    rows = [
        row
        for heading in ("Three journeys", "Where is …?")
        for row in re.findall(r"^\| (?!step|question|-)(.+) \|$", section(heading), re.MULTILINE)
    ]

    assert len(rows) >= 40
    assert [row for row in rows if not _FILE.search(row)] == []
