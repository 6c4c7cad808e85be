"""The sets that the judge is learnt from, chosen on, and measured on once, as one kind of row.

`PROTOCOL.md` says what each role means. Which part of a set has which role is told by a hash of the
row's group (premise, question, source), so it is the same in every run and never splits one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.embedded_judge import corpora, natural_answers, pairs, splits
from benchmarks.embedded_judge.written import statements
from rag_monitor.language.language_mismatch import languages_differ
from rag_monitor.language.normalise import fold
from rag_monitor.language.script import has_han

HERE: Final = Path(__file__).parent
CASES: Final = Path("..", "cases", "evaluation")
"""From the folder of the data sets."""
DETAILS: Final = HERE / "written_details"
RAG_ANSWERS: Final = HERE / "rag_answers"
FOLDS: Final = 5
"""Parts of what is learnt from, each scored by weights of the others to choose a threshold."""
PAIRS: Final = (
    "en_answers", "en_summaries", "en_vitaminc_real", "en_fever_fm2", "zh_citecheck_dev", "zh_qa",
)  # fmt: skip
"""Files of entailment pairs that words can say something about."""
LEFT_OUT: Final = frozenset(
    {"begin_wow", "begin_cmu", "vitaminc_synthetic", "fever_symmetric", "fever_adversarial"}
)
"""Sources whose style gives the label away, or that were written to fool readers of words."""
MOST: Final = {
    "rag": 9999, "natural": 9999, "details": 2000, "everyday": 400, "expertqa": 300, "wice": 200,
    "citecheck": 250, "uhgeval": 250,
}  # fmt: skip
"""Rows taken of a set, whole groups by their hash; others give `MOST_ELSE`."""
MOST_ELSE: Final = 150
FEWER: Final = {
    "rag": 9999, "natural": 9999, "forms": 9999, "handover": 9999, "details": 400, "everyday": 120,
    "expertqa": 100, "citecheck": 150,
}  # fmt: skip
FEWER_ELSE: Final = 60
"""The same beside an encoder, which takes minutes to read them."""

OF_PAIRS: Final = ("expertqa", "clapnq", "halueval", "uhgeval", "made")
"""Sets of which `pairs.held_out` tells what encoders did not learn from."""


@dataclass(frozen=True, slots=True)
class Row:
    """One answer with its passages and what is known of it."""

    corpus: str
    group: str
    language: str
    question: str
    contexts: tuple[str, ...]
    answer: str
    supported: bool
    sentences: tuple[tuple[int, int, str, str], ...] = ()
    """Where each sentence of the answer begins and ends, its label and kind, where people told."""

    @property
    def unread(self) -> bool:
        """Whether no encoder of this project learnt from it."""
        if self.corpus.startswith(("rag_", "details_")):
            return splits.is_validation(self.group)
        if self.corpus.startswith(("everyday", "natural", "wice", "forms", "handover")):
            return True
        if self.corpus.startswith(OF_PAIRS):
            return pairs.held_out(self.group)
        parts = 4 if self.corpus == "fool_me_twice" else 8
        return part(self.group, parts) == 0

    @property
    def once(self) -> bool:
        """Whether it is scored once a release and teaches nothing."""
        return self.corpus.startswith(("rag_", "details_")) and splits.is_once(self.group)

    @property
    def fold(self) -> int:
        """Which fold it is in; weights of the others calibrate on it."""
        return part(f"fold {self.group}", FOLDS)


def part(text: str, parts: int) -> int:
    """Which of so many parts a group belongs to; the same in every run."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % parts


def rag_answers(folder: Path = RAG_ANSWERS) -> Iterator[Row]:
    """Long answers over several passages with a label for each sentence."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        for row in _lines(path):
            later = "later_" * splits.group_of(row["id"]).startswith(splits.LATER)
            yield _labelled(f"rag_{later}{row['lang']}", row)


def natural(folder: Path) -> Iterator[Row]:
    """Answers over public passages with a label for each sentence."""
    for row in natural_answers.answers(folder):
        yield _labelled(f"natural_{row['lang']}", row)


def _labelled(corpus: str, row: dict[str, Any]) -> Row:
    """An answer put together from its sentences."""
    answer, found = "", []
    for sentence in row["sentences"]:
        apart = row["lang"] == "en" and answer and not sentence["text"][:1].isspace()
        start = len(answer) + bool(apart)
        answer += " " * bool(apart) + sentence["text"]
        found.append((start, len(answer), sentence["label"], sentence["kind"]))
    return Row(
        corpus,
        splits.group_of(row["id"]),
        row["lang"],
        row["question"],
        tuple(row["contexts"]),
        answer,
        not any(label in {"contradicted", "unsupported"} for _, _, label, _ in found),
        tuple(found),
    )


def details() -> Iterator[Row]:
    """Statements that differ from what their premise supports in one detail."""
    for said in statements(DETAILS):
        language = "zh" if said.genre.endswith("_zh") else "en"
        yield Row(
            f"details_{language}", said.premise, language, "", (said.premise,), said.text,
            said.supported,
        )  # fmt: skip


def entailment(folder: Path) -> Iterator[Row]:
    """Entailment pairs of `nli`; contradicted ones are unsupported, too."""
    for name in PAIRS:
        for row in _lines(folder / "nli" / f"{name}.jsonl.gz"):
            if row["source"] not in LEFT_OUT:
                yield Row(
                    row["source"], str(row["group"]), row["lang"], row.get("question") or "",
                    tuple(row["premises"]), row["statement"], row["label"] == "supported",
                )  # fmt: skip


def others(folder: Path) -> Iterator[Row]:
    """The permissive sets of `corpora`, and the everyday answers."""
    for maker in (corpora.wice, corpora.expertqa, corpora.clapnq, corpora.halueval):
        for row in maker(folder):
            yield _row(row, "en")
    for row in corpora.synthetic(folder):
        yield _row(row, "zh" if row.corpus.startswith("made_zh") else "en")
    for row in corpora.uhgeval(folder):
        if row.corpus == "uhgeval_keyword":
            yield _row(row, "zh")
    for said in corpora.everyday():
        language = "zh" if said["dataset"].endswith("zh") else "en"
        yield Row(
            said["dataset"], said["contexts"][0], language, said["question"],
            tuple(said["contexts"]), said["answer"], bool(said["label_faithful"]),
        )  # fmt: skip


def cases(folder: Path) -> Iterator[Row]:
    """Cases that users reported, by their kind: number forms, and what judges get wrong."""
    for name, corpus in (("02_number_forms", "forms"), ("19_judge_handover", "handover")):
        path = folder / CASES / f"{name}.jsonl"
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            kind = row.get("metadata", {}).get("kind") or row["id"].rstrip("+-")
            contexts = [c["content"] if isinstance(c, dict) else c for c in row["contexts"]]
            language = "zh" if has_han(row["answer"]) else "en"
            if not languages_differ([fold(row["answer"])], [fold(context) for context in contexts]):
                yield Row(
                    f"{corpus}_{language}", f"{corpus}:{kind}", language, row["question"],
                    tuple(contexts), row["answer"], bool(row["label_faithful"]),
                )  # fmt: skip


def looked_at(folder: Path) -> Iterator[Row]:
    """Sets that teach nothing because of their licence; their figures are looked at."""
    for name, language in (
        ("ragtruth_qa_dev", "en"),
        ("rgb_en", "en"),
        ("ocnli_zh_dev", "zh"),
        ("rgb_zh", "zh"),
    ):
        for row in corpora.load(folder, name):
            if row["answer"] is not None and row["label_faithful"] is not None:
                extra = row["extra"] or {}
                group = extra.get("source_id") or row["contexts"][0]
                yield Row(
                    row["dataset"], str(group), language, row["question"] or "",
                    tuple(row["contexts"]), row["answer"], bool(row["label_faithful"]),
                )  # fmt: skip


def sampled(folder: Path, *, unread: bool = False) -> list[Row]:
    """Every row that may be learnt from or chosen on, at most `MOST` of a set.

    Args:
        folder: The data sets.
        unread: Only rows that no encoder learnt from: on the others it looks better than it is.
    """
    by: dict[str, list[Row]] = defaultdict(list)
    for source in (
        rag_answers(), natural(folder), details(), entailment(folder), others(folder),
        cases(folder),
    ):  # fmt: skip
        for row in source:
            if not row.once and (row.unread or not unread):
                by[row.corpus].append(row)
    found = []
    for corpus, rows in by.items():
        kind = corpus.split("_")[0]
        most = FEWER.get(kind, FEWER_ELSE) if unread else MOST.get(kind, MOST_ELSE)
        sizes = Counter(row.group for row in rows)
        kept: set[str] = set()
        taken = 0
        for group in sorted(sizes, key=lambda g: part(f"sample {g}", 2**61)):
            if taken >= most:
                break
            kept.add(group)
            taken += sizes[group]
        found += [row for row in rows if row.group in kept]
    return found


def once() -> list[Row]:
    """The rows that are scored once a release."""
    return [row for source in (rag_answers(), details()) for row in source if row.once]


def _row(row: corpora.Row, language: str) -> Row:
    return Row(
        row.corpus, row.group, language, row.question, tuple(row.contexts), row.answer,
        row.supported,
    )  # fmt: skip


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
