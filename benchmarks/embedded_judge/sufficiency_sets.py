"""What sufficiency is learnt from and measured on: questions with contexts that suffice or do not.

Learnt from: half of CLAPNQ (by the title of the article; the other half is *held*: no weight or
choice rests on it), its passages with the sentences that bear the answer withheld, and so passages
of OneStopQA, HaluEval, CMRC and DRCD. RGB is only measured. The written passages of relevance are
not used: there the passage that answers was reworded until it shares the fewest words of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.embedded_judge import pairs, sets
from benchmarks.embedded_judge.corpora import load
from benchmarks.embedded_judge.entailment import is_held_out
from benchmarks.embedded_judge.relevance_sets import article_passages, lines_of
from rag_monitor.judges.embedded.packing import legible
from rag_monitor.language.sentences import split_sentences

_MOST: Final = 5
"""Passages of one row of RGB."""
BRIEF: Final = ("clapnq", "cmrc", "drcd")
"""Sets of which single sentences are learnt from, too: knowledge bases hold short passages. Answers
of HaluEval rest on several sentences."""
_MOST_HALUEVAL: Final = 450
_NO_SPACE: Final = re.compile(r"(?<=[a-z)\]\d])\.(?=[A-Z\"])")
"""Where HaluEval puts two sentences together."""
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
    bearing: frozenset[str] | None = None
    """Sentences that bear the answer, as `squeezed` writes them; None: not known which."""
    unread: bool = True
    """Whether no encoder learnt from the passages."""

    def label(self, window: str) -> float | None:
        """Whether a part of the passages bears the answer; None: not known."""
        if not self.sufficient:
            return 0.0
        if self.bearing is None:
            return None
        text = squeezed(window)
        return float(any(sentence in text for sentence in self.bearing))


def squeezed(text: str) -> str:
    """As readings write it, without spaces."""
    return "".join(legible(text).split())


def _bearing(labelled: Iterable[tuple[str, object]]) -> frozenset[str]:
    return frozenset(squeezed(text) for text, bears in labelled if bears)


def clapnq(folder: Path, *, held: bool) -> Iterator[Contexts]:
    """Passages of Wikipedia with answerable and unanswerable questions, of one half."""
    rows = load(folder, "clapnq_dev")
    bearing = {
        row["question"]: _bearing(zip(row["contexts"], row["context_labels"], strict=True))
        for row in rows
        if row["dataset"] == "clapnq_sent"
    }
    for row in rows:
        if row["dataset"] == "clapnq":
            title = row["extra"]["title"]
            if (sets.part(f"sufficiency {title}", 2) == 1) is held:
                yield Contexts(
                    "clapnq", "en", title, row["question"], tuple(row["contexts"]),
                    bool(row["context_labels"][0]), bearing.get(row["question"]),
                    pairs.held_out(row["id"]),
                )  # fmt: skip


def withheld(folder: Path, *, held: bool) -> Iterator[Contexts]:
    """Passages of CLAPNQ that answer, whole and without the sentences that bear the answer."""
    whole = {
        row["question"]: row for row in load(folder, "clapnq_dev") if row["dataset"] == "clapnq"
    }
    for row in load(folder, "clapnq_dev"):
        if row["dataset"] != "clapnq_sent":
            continue
        title = whole[row["question"]]["extra"]["title"]
        if (sets.part(f"sufficiency {title}", 2) == 1) is not held:
            continue
        labelled = list(zip(row["contexts"], row["context_labels"], strict=True))
        others = [text for text, bears in labelled if not bears]
        if len(others) in (0, len(labelled)):
            continue
        for sentences, sufficient in ((row["contexts"], True), (others, False)):
            yield Contexts(
                "clapnq_withheld", "en", title, row["question"], (" ".join(sentences),), sufficient,
                _bearing(labelled), pairs.held_out(whole[row["question"]]["id"]),
            )  # fmt: skip


def articles(folder: Path) -> Iterator[Contexts]:
    """English articles whole, and without the sentences that bear the answer."""
    for row in article_passages(folder):
        labelled = list(zip(row.contexts, row.labels, strict=True))
        for sufficient in (True, False) if row.language == "en" else ():
            passages = tuple(text for text, bears in labelled if sufficient or not bears)
            yield Contexts(
                row.corpus, row.language, row.question, row.question, passages, sufficient,
                _bearing(labelled), unread=False,
            )  # fmt: skip


def chinese(folder: Path) -> Iterator[Contexts]:
    """Passages of CMRC and DRCD whole, and without the sentences that bear the answer."""
    rows = list(lines_of(folder / "nli" / "zh_qa.jsonl.gz"))
    whole = {
        (row["group"], row["question"]): row["premises"][0]
        for row in rows
        if row["label"] == "supported"
    }
    for row in rows:
        passage = whole.pop((row["group"], row["question"]), None) if _is_withheld(row) else None
        if passage is None:
            continue
        [rest] = row["premises"]
        kept = squeezed(rest)
        sentences = [span.text for span in split_sentences(passage)]
        bearing = _bearing((text, squeezed(text) not in kept) for text in sentences)
        for text, sufficient in ((passage, True), (rest, False)) if bearing else ():
            yield Contexts(
                row["source"], "zh", row["group"], row["question"], (text,), sufficient, bearing,
                is_held_out(row["source"], row["group"]),
            )  # fmt: skip


def _is_withheld(row: dict[str, Any]) -> bool:
    return bool(row["made"] == "qa_withheld")


def halueval(folder: Path) -> Iterator[Contexts]:
    """Passages of HotpotQA whole, and without the sentences that hold the answer word for word."""
    taken = 0
    for row in load(folder, "halueval_qa_first1000"):
        answer = row["answer"].strip().lower()
        if not row["label_faithful"] or answer in {"yes", "no"} or taken == _MOST_HALUEVAL:
            continue
        sentences = [s.text for s in split_sentences(_NO_SPACE.sub(". ", row["contexts"][0]))]
        labelled = [(text, answer in text.lower()) for text in sentences]
        rest = [text for text, bears in labelled if not bears]
        if answer in row["question"].lower() or len(rest) in (0, len(labelled)):
            continue
        taken += 1
        group = "halueval:" + row["id"].split(":")[1]
        for kept, sufficient in ((sentences, True), (rest, False)):
            yield Contexts(
                "halueval", "en", group, row["question"], (" ".join(kept),), sufficient,
                _bearing(labelled), pairs.held_out(group),
            )  # fmt: skip


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


def brief(row: Contexts) -> Iterator[Contexts]:
    """Of a passage the sentences that bear the answer, and as many others of it, each alone."""
    sentences = [span.text for passage in row.passages for span in split_sentences(passage)]
    labelled = [(text, squeezed(text) in (row.bearing or ())) for text in sentences]
    bearing = [text for text, bears in labelled if bears]
    others = [text for text, bears in labelled if not bears][: len(bearing)]
    if row.sufficient and row.corpus in BRIEF and bearing and len(others) == len(bearing):
        for kept, sufficient in ((bearing, True), (others, False)):
            yield replace(
                row,
                corpus=f"{row.corpus}_brief",
                passages=("".join(kept) if row.language == "zh" else " ".join(kept),),
                sufficient=sufficient,
            )


def learnt(folder: Path) -> list[Contexts]:
    """Everything that weights may be learnt from."""
    whole = [
        *clapnq(folder, held=False), *withheld(folder, held=False), *articles(folder),
        *halueval(folder), *chinese(folder),
    ]  # fmt: skip
    return [*whole, *(short for row in whole for short in brief(row))]


def measured(folder: Path) -> list[Contexts]:
    """What taught nothing."""
    return [*clapnq(folder, held=True), *withheld(folder, held=True), *rgb(folder)]
