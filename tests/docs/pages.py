"""The pages people read, cut into their fenced blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"```.*?```", re.DOTALL)
"""A whole fenced block."""
_FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^\n]+?) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)```", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    kind: str
    text: str
    why_not: str | None
    """The reason after `<!-- not run: … -->` on the line before it; None: it must run."""
    line: int
    """Of its first line in the page, from 1."""


def pages() -> list[str]:
    """Every page, relative to the project; integrations' READMEs run in their own tests."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def readmes() -> list[str]:
    """The READMEs of integrations and ways to deploy, in both languages."""
    found = [*ROOT.glob("integrations/*/README*.md"), *ROOT.glob("deploy/*/README*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def text_of(page: str) -> str:
    """The whole page."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    text = text_of(page)
    return [
        Block(
            kind=found["kind"],
            text=found["text"],
            why_not=found["why"],
            line=text.count("\n", 0, found.start("text")) + 1,
        )
        for found in _FENCE.finditer(text)
    ]


def anchors(page: str) -> set[str]:
    """What may stand after `#` in a link to this page: its headings as GitHub names them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+)$", FENCED.sub("", text_of(page)), re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(name if name not in found else f"{name}-1")
    return found
