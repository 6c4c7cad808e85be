"""A statement beside its evidence, as an encoder learns from it; files of such pairs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

SUPPORTED, CONTRADICTED, UNSUPPORTED = 0, 1, 2
UNLABELLED: Final = -1
"""Of pairs that nobody labelled; students learn what teachers say of them."""
LABELS: Final = {
    "supported": SUPPORTED, "contradicted": CONTRADICTED, "unsupported": UNSUPPORTED,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entailment:
    """A statement, what the judge reads beside it, and what that says of it."""

    corpus: str
    group: str
    unit: str
    """Statements of one unit differ in little and are read in the same batch."""
    claim: str
    evidence: str
    label: int
    prior: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Log-odds of the classes by the words of the claim alone, which need not be learnt."""


def write_pairs(path: Path, pairs: Iterable[Entailment]) -> None:
    """One pair a line, gzipped."""
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(asdict(pair), ensure_ascii=False) + "\n" for pair in pairs)


def read_pairs(path: Path) -> list[Entailment]:
    """The pairs of a file that `write_pairs` wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Entailment(**{**row, "prior": tuple(row["prior"])}) for row in rows]
