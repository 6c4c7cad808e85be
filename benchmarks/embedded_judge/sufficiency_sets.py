"""What sufficiency is learnt from and measured on: questions with contexts that suffice or do not.

Learnt from: half of CLAPNQ (by the title of the article; the other half is *held*: no weight or
choice rests on it), its passages with the sentences that bear the answer withheld, and so articles
of OneStopQA, CMRC and DRCD. RGB is only measured. The written passages of relevance are not
used: there the passage that answers was reworded until it shares the fewest words of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.embedded_judge import sets
from benchmarks.embedded_judge.corpora import load
from benchmarks.embedded_judge.relevance_sets import article_passages

_MOST: Final = 5
"""Passages of one row of RGB."""
RGB: Final = ("rgb_en_fact", "rgb_zh_refine", "rgb_zh_int", "rgb_zh_fact")


@dataclass(frozen=True, slots=True)
class Contexts:
    """A question with contexts, and whether they hold what a complete answer needs."""

    corpus: str
    language: str
    group: str
    question: str
    passages: tuple[str, ...]
    sufficient: bool


def clapnq(folder: Path, *, held: bool) -> Iterator[Contexts]:
    """Passages of Wikipedia with answerable and unanswerable questions, of one half."""
    for row in load(folder, "clapnq_dev"):
        if row["dataset"] == "clapnq":
            title = row["extra"]["title"]
            if (sets.part(f"sufficiency {title}", 2) == 1) is held:
                yield Contexts(
                    "clapnq", "en", title, row["question"], tuple(row["contexts"]),
                    bool(row["context_labels"][0]),
                )  # fmt: skip


def withheld(folder: Path, *, held: bool) -> Iterator[Contexts]:
    """Passages of CLAPNQ that answer, whole and without the sentences that bear the answer."""
    titles = {
        row["question"]: row["extra"]["title"]
        for row in load(folder, "clapnq_dev")
        if row["dataset"] == "clapnq"
    }
    for row in load(folder, "clapnq_dev"):
        if row["dataset"] != "clapnq_sent":
            continue
        title = titles[row["question"]]
        if (sets.part(f"sufficiency {title}", 2) == 1) is not held:
            continue
        labelled = list(zip(row["contexts"], row["context_labels"], strict=True))
        others = [text for text, bears in labelled if not bears]
        if len(others) in (0, len(labelled)):
            continue
        for sentences, sufficient in ((row["contexts"], True), (others, False)):
            yield Contexts(
                "clapnq_withheld", "en", title, row["question"], (" ".join(sentences),), sufficient
            )


def articles(folder: Path) -> Iterator[Contexts]:
    """Each article whole, and without the sentences that bear the answer."""
    for row in article_passages(folder):
        labelled = list(zip(row.contexts, row.labels, strict=True))
        for sufficient in (True, False):
            passages = tuple(text for text, bears in labelled if sufficient or not bears)
            yield Contexts(
                row.corpus, row.language, row.question, row.question, passages, sufficient
            )


def rgb(folder: Path) -> Iterator[Contexts]:
    """Passages that bear the answer, and as many that do not; of each at most five."""
    for name in ("rgb_en", "rgb_zh"):
        for row in load(folder, name):
            if row["dataset"] not in RGB:
                continue
            labelled = list(zip(row["contexts"], row["context_labels"], strict=True))
            bearing = [text for text, label in labelled if label]
            others = [text for text, label in labelled if not label]
            count = min(len(bearing), len(others), _MOST)
            if count:
                for passages, sufficient in ((bearing, True), (others, False)):
                    yield Contexts(
                        row["dataset"], row["lang"], row["question"], row["question"],
                        tuple(passages[:count]), sufficient,
                    )  # fmt: skip


def learnt(folder: Path) -> list[Contexts]:
    """Everything that weights may be learnt from."""
    return [*clapnq(folder, held=False), *withheld(folder, held=False), *articles(folder)]


def measured(folder: Path) -> list[Contexts]:
    """What taught nothing."""
    return [*clapnq(folder, held=True), *withheld(folder, held=True), *rgb(folder)]
