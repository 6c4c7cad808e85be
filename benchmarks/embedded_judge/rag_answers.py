"""Answers over passages as chat models write them, every sentence labelled.

Each line of `rag_answers/*.jsonl.gz` was written for this project and is under its licence: `id`,
`lang`, `style`, `domain`, `question`, `contexts`, and `sentences` with `text`, `label` (supported,
contradicted, unsupported, or none for what claims nothing) and `kind` (what was done to it). Ids
that agree before their last dash have the same passages; `splits` says which of these are *once*.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.embedded_judge import splits
from benchmarks.embedded_judge.training_pairs import LABELS, Entailment
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.packing import reading
from rag_monitor.judges.embedded.segments import Segment

FOLDER = Path(__file__).parent / "rag_answers"


def answers(folder: Path = FOLDER) -> Iterator[dict[str, Any]]:
    """Every answer, in the order of the files."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def learnt(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The answers an encoder learns from."""
    return [
        row
        for row in answers(folder)
        if not splits.is_once(group := splits.group_of(row["id"]))
        and not splits.is_validation(group)
    ]


def validation(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The answers that show how good an encoder is while it is made."""
    return [row for row in answers(folder) if splits.is_validation(splits.group_of(row["id"]))]


def pairs_of(rows: Iterable[dict[str, Any]]) -> list[Entailment]:
    """Each labelled sentence beside what the judge would read; a unit is a passage set's."""
    found = []
    for row in rows:
        evidence = EvidenceIndex.build(row["contexts"], row["question"])
        group = splits.group_of(row["id"])
        for sentence in row["sentences"]:
            if sentence["label"] in LABELS:
                claim, text = reading(Segment(sentence["text"]), evidence)
                label = LABELS[sentence["label"]]
                corpus = f"rag_{row['lang']}"
                found.append(Entailment(corpus, group, row["id"], claim, text, label))
    return found
