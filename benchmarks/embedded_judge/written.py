"""Premises with statements that follow from them, that do not, and that contradict them.

Every line of `written/*.jsonl` was written for this project, in Chinese and English, and is under
its licence: `p` a premise, `s` statements it supports, `n` statements it leaves open, `c`
statements that cannot be true beside it. They teach an encoder what words cannot show: other words
for the same, and what follows without being said.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "written"
HELD_OUT = 8
"""One premise of so many is kept from every encoder."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement about one premise."""

    genre: str
    premise: str
    text: str
    supported: bool
    contrary: bool

    @property
    def held_out(self) -> bool:
        """Whether its premise is kept from every encoder."""
        return hashlib.sha256(self.premise.encode()).digest()[0] % HELD_OUT == 0


def statements(folder: Path = FOLDER) -> Iterator[Statement]:
    """Every statement, in the order of the files."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for key in ("s", "n", "c"):
                for text in row[key]:
                    yield Statement(path.stem, row["p"], text, key == "s", key == "c")
