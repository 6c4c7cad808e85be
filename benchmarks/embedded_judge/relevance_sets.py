"""What relevance is learnt from and measured on: questions with labelled passages and answers.

Roles are told by the hash of the question (`splits`, `PROTOCOL.md`). Beside what was written for
this project: CLAPNQ (passages, sentences and gold answers), and runs of sentences of one article,
of which one bears the answer (OneStopQA, CMRC, DRCD).
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.embedded_judge import corpora, sets, splits
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.sentences import split_sentences

WRITTEN: Final = Path(__file__).parent / "written_relevance"
ARTICLES: Final = {"en": ("en_answers", ("onestop_qa",)), "zh": ("zh_qa", ("cmrc", "drcd"))}
"""Files of questions about one article each, and the sources taken from them."""
MOST_ARTICLES: Final = 250
"""Questions of articles taken for a language, by their hash."""
RUN: Final = 2
"""Sentences of one run of an article."""
PADDED: Final = 3
"""Sentences of other answers put around a right one."""


@dataclass(frozen=True, slots=True)
class Passages:
    """A question with passages, each relevant or not."""

    corpus: str
    language: str
    question: str
    contexts: tuple[str, ...]
    labels: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, how well it answers its question (0 to 1), and what kind of answer it is."""

    corpus: str
    language: str
    question: str
    text: str
    grade: float
    kind: str
    contexts: tuple[str, ...] = ()


def written_passages() -> Iterator[Passages]:
    """Five passages of one subject each, written for this project."""
    for row in lines_of(WRITTEN / "relevance.jsonl.gz"):
        yield Passages(
            f"written_{row['lang']}", row["lang"], row["question"], tuple(row["contexts"]),
            tuple(map(bool, row["labels"])),
        )  # fmt: skip


def written_answers() -> Iterator[Answer]:
    """Right, padded, partial, evasive and echoing answers, written for this project."""
    for row in lines_of(WRITTEN / "answer_relevance.jsonl.gz"):
        for said in row["answers"]:
            yield Answer(
                f"written_{row['lang']}", row["lang"], row["question"], said["text"],
                float(said["grade"]), said["kind"],
            )  # fmt: skip


def clapnq_passages(folder: Path) -> Iterator[Passages]:
    """CLAPNQ: whole passages, which answer the question or do not, and sentences of them."""
    for row in corpora.load(folder, "clapnq_dev"):
        if row["context_labels"] is not None:
            yield Passages(
                row["dataset"], "en", row["question"], tuple(row["contexts"]),
                tuple(map(bool, row["context_labels"])),
            )  # fmt: skip


def article_passages(folder: Path) -> Iterator[Passages]:
    """Runs of sentences of one article; relevant is the one that holds most of the answer."""
    for row in _articles(folder):
        sentences = [span.text for span in split_sentences(" ".join(row["premises"]))]
        runs = [" ".join(sentences[n : n + RUN]) for n in range(0, len(sentences), RUN)]
        given = Segment(row["question"]).terms
        own = Segment(row["statement"]).terms - given
        held = [len(own & Segment(run).terms) for run in runs]
        if len(runs) < 3 or not own or held.count(max(held)) > 1:
            continue
        labels = tuple(value == max(held) for value in held)
        yield Passages(f"article_{row['lang']}", row["lang"], row["question"], tuple(runs), labels)


def other_answers(folder: Path) -> Iterator[Answer]:
    """Right answers that are long or natural, and answers to another question on the subject."""
    for row in corpora.load(folder, "clapnq_dev"):
        if row["dataset"] == "clapnq" and row["answer"]:
            yield Answer("clapnq", "en", row["question"], row["answer"], 1.0, "right_natural")
    for said in sets.rag_answers():
        if not said.once:
            yield Answer(
                said.corpus,
                said.language,
                said.question,
                said.answer,
                1.0,
                "right_rag",
                said.contexts,
            )
    rows = [row for row in _articles(folder) if row["lang"] == "zh"]
    by_article: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_article.setdefault(row["group"], []).append(row)
    for row in rows:
        corpus = f"article_{row['lang']}"
        yield Answer(corpus, row["lang"], row["question"], row["statement"], 1.0, "right_natural")
        for other in by_article[row["group"]]:
            if other["question"] != row["question"]:
                yield Answer(
                    corpus, row["lang"], row["question"], other["statement"], 0.0, "off_topic"
                )
                break


def made_answers(taught: Sequence[Answer]) -> Iterator[Answer]:
    """Questions repeated as answers, and right answers between sentences on other subjects."""
    for language in ("en", "zh"):
        own = [answer for answer in taught if answer.language == language]
        for question in dict.fromkeys(answer.question for answer in own):
            yield Answer(f"made_{language}", language, question, question, 0.0, "repeated")
        fillers = [answer for answer in own if answer.kind in {"off_topic", "right_long"}]
        draw = random.Random(11)
        for answer in own:
            if not answer.kind.startswith("right") or answer.corpus.startswith("rag"):
                continue
            around = [
                filler.text
                for filler in draw.sample(fillers, PADDED + 1)
                if filler.question != answer.question
            ][:PADDED]
            around.insert(draw.randint(0, len(around)), answer.text)
            text = ("" if language == "zh" else " ").join(around)
            yield Answer(f"made_{language}", language, answer.question, text, 0.5, "padded_made")


def passages(folder: Path) -> list[Passages]:
    """Everything that weights of passages may be learnt from."""
    kept = [row for row in written_passages() if not splits.is_once(row.question)]
    return [*kept, *clapnq_passages(folder), *article_passages(folder)]


def answers(folder: Path) -> list[Answer]:
    """Everything that weights of answers may be learnt from."""
    kept = [answer for answer in written_answers() if not splits.is_once(answer.question)]
    return [*kept, *made_answers(kept), *other_answers(folder)]


def once() -> tuple[list[Passages], list[Answer]]:
    """What is scored once a release."""
    return (
        [row for row in written_passages() if splits.is_once(row.question)],
        [answer for answer in written_answers() if splits.is_once(answer.question)],
    )


def _articles(folder: Path) -> Iterator[dict[str, Any]]:
    """Supported statements that answer a question, the first by the hash of the question."""
    for name, sources in ARTICLES.values():
        rows = [
            row
            for row in lines_of(folder / "nli" / f"{name}.jsonl.gz")
            if row["source"] in sources and row["label"] == "supported" and row.get("question")
        ]
        rows.sort(key=lambda row: sets.part(f"article {row['group']}", 2**61))
        yield from rows[:MOST_ARTICLES]


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON Lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
