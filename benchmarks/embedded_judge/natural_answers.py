"""Answers as chat models give them over public passages, every sentence labelled.

Each line of `natural_answers/*.jsonl.gz` was written for this project and is under its licence:
`id` (the question's source and a number), `lang`, `passages` (beginnings of the SHA-256 of their
texts) and `sentences`, as in `rag_answers`. The faults are those of language models: most add what
is plausible and stands nowhere. The passages are not ours (CLAPNQ, ExpertQA, CMRC), so they are
read from the data folder. They teach weights and choose thresholds. No encoder learns from them:
one that did told their own kind better, and people's labels of other answers worse
(`EXPERIMENTS.md`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from benchmarks.embedded_judge.corpora import load

FOLDER: Final = Path(__file__).parent / "natural_answers"
LONGEST: Final = {"clapnq": 99_999, "expertqa": 1400, "cmrc": 700}
"""Letters of a passage that the writers saw, by its source."""


def name_of(passage: str) -> str:
    """What a file calls a passage."""
    return hashlib.sha256(passage.encode()).hexdigest()[:16]


@cache
def passages(data: Path) -> dict[str, dict[str, str]]:
    """Every passage of each source by its name."""
    held: dict[str, dict[str, str]] = {source: {} for source in LONGEST}
    for row in load(data, "clapnq_dev"):
        if row["dataset"] == "clapnq":
            _put(held["clapnq"], row["contexts"], "clapnq")
    for row in load(data, "expertqa_claims"):
        _put(held["expertqa"], row["contexts"], "expertqa")
    for row in load(data / "nli", "zh_qa"):
        if row["source"] == "cmrc":
            _put(held["cmrc"], row["premises"][:1], "cmrc")
    return held


def _put(held: dict[str, str], texts: list[str], source: str) -> None:
    for text in texts:
        cut = text[: LONGEST[source]]
        held[name_of(cut)] = cut


def answers(data: Path, folder: Path = FOLDER) -> Iterator[dict[str, Any]]:
    """Every answer with the texts of its passages, in the order of the files.

    Raises:
        KeyError: A passage that the data folder does not hold.
    """
    held = passages(data)
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                source = held[row["id"].partition(":")[0]]
                yield {**row, "contexts": [source[name] for name in row["passages"]]}
