"""What no encoder learns from, in sets whose figures may be looked at as often as one likes.

Usage: `python -m benchmarks.embedded_judge.validation DATA_FOLDER FILE`
Writes one pair a line, its corpus the name of its set. RAGTruth (never learnt from), held-out pages
and the validation halves of what was written; nothing that is *once*.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.embedded_judge import rag_answers, splits
from benchmarks.embedded_judge.corpora import Row, expertqa, load
from benchmarks.embedded_judge.entailment import DETAILS, public_pairs, written_pairs
from benchmarks.embedded_judge.pairs import held_out, pairs_of
from benchmarks.embedded_judge.training_pairs import Entailment, write_pairs
from benchmarks.embedded_judge.written import statements

MOST: Final = {
    "vitaminc_real": 240, "fool_me_twice": 200, "summedits_podcast": 40, "summedits_news": 60,
    "summedits_sales_call": 40, "summedits_qmsumm": 40, "citecheck": 90, "cmrc": 120, "drcd": 60,
}  # fmt: skip
MOST_DETAILS: Final = 360
MOST_EXPERT: Final = 160
MOST_ANSWERS: Final = 90


def sets(
    folder: Path, answers: Path = rag_answers.FOLDER, *, brief: bool = False
) -> Iterator[tuple[str, list[Entailment]]]:
    """Each set's pairs; `group` names the answer where several statements make one."""
    said = rag_answers.pairs_of(rag_answers.validation(answers))
    for language in ("en", "zh"):
        yield f"rag_{language}", [pair for pair in said if pair.corpus == f"rag_{language}"]
    details = [one for one in statements(DETAILS) if splits.is_validation(one.premise)]
    for language in ("en", "zh"):
        own = [one for one in details if one.genre.endswith(language)]
        made = written_pairs(own, "written_details", random.Random(3))
        random.Random(4).shuffle(made)
        yield f"details_{language}", made[: MOST_DETAILS if language == "en" else 150]
    public = public_pairs(folder, held_out=True, most=MOST)
    for name in ("vitaminc_real", "fool_me_twice", "citecheck"):
        yield name, [pair for pair in public if pair.corpus == name]
    yield "summedits", [pair for pair in public if pair.corpus.startswith("summedits")]
    yield "zh_qa", [pair for pair in public if pair.corpus in {"cmrc", "drcd"}]
    if brief:
        return
    rows = [row for row in expertqa(folder) if row.corpus == "expertqa" and held_out(row.group)]
    random.Random(5).shuffle(rows)
    yield "expertqa", [pair for row in rows[:MOST_EXPERT] for pair in _of_answer(row)]
    yield "ragtruth", [pair for row in _ragtruth(folder) for pair in _of_answer(row)]


def _of_answer(row: Row) -> list[Entailment]:
    """The claims of one answer, which they name as their unit."""
    name = f"{row.group}|{row.answer}"
    return [
        Entailment(pair.corpus, pair.group, name, pair.claim, pair.evidence, pair.label)
        for pair in pairs_of(row)
    ]


def _ragtruth(folder: Path) -> list[Row]:
    rows = [row for row in load(folder, "ragtruth_qa_dev") if row["dataset"] == "ragtruth"]
    random.Random(6).shuffle(rows)
    rows.sort(key=lambda row: bool(row["label_faithful"]))
    return [
        Row(
            "ragtruth", row["id"], row["question"] or "", tuple(row["contexts"]), row["answer"],
            bool(row["label_faithful"]),
        )
        for row in rows[:MOST_ANSWERS]
    ]  # fmt: skip


def main(folder: Path, target: Path) -> None:
    """Write every set to one file."""
    write_pairs(
        target,
        [replace(pair, corpus=name) for name, pairs in sets(folder) for pair in pairs],
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
