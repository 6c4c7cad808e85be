"""Rows the weights may be learnt on: permissively licensed data and what is made from it.

RAGTruth, RGB and OCNLI never appear here: they only show how good the result is.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.embedded_judge.perturb import perturb
from rag_monitor.language.sentences import split_sentences

EVERYDAY_SEEN = ("everyday_en", "everyday_third_en", "everyday_zh")
WRITTEN = Path(__file__).parent / "written_answers"


@dataclass(frozen=True, slots=True)
class Row:
    """One answer with its passages and whether they support all of it."""

    corpus: str
    group: str
    """Source document or question; folds never split it."""
    question: str
    contexts: tuple[str, ...]
    answer: str
    supported: bool
    weight: float = 1.0


def load(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of one data file."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def wice(folder: Path) -> Iterator[Row]:
    """WiCE: whole articles, oracle chunks, and supported claims whose evidence is taken away."""
    for row in load(folder, "wice_dev"):
        group = "wice:" + row["id"].split(":")[1]
        label = bool(row["label_faithful"])
        corpus = row["dataset"]
        contexts = tuple(row["contexts"])
        yield Row(corpus, group, "", contexts, row["answer"], label)
        if corpus == "wice" and label:
            kept = tuple(
                c for c, used in zip(contexts, row["context_labels"], strict=True) if not used
            )
            yield Row("wice_withheld", group, "", kept, row["answer"], supported=False)


def wice_train(folder: Path) -> Iterator[Row]:
    """WiCE train: sub-claims with unsupported tokens, all of one class."""
    for row in load(folder, "wice_train"):
        yield Row(
            "wice_train", row["id"], "", tuple(row["contexts"]), row["answer"], supported=False
        )


def expertqa(folder: Path) -> Iterator[Row]:
    """ExpertQA claims, and whole answers made of the claims of one model to one question."""
    answers: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in load(folder, "expertqa_claims"):
        _, question, model, _ = row["id"].split(":")
        answers[question, model].append(row)
        yield Row(
            "expertqa",
            f"expertqa:{question}",
            row["question"],
            tuple(row["contexts"]),
            row["answer"],
            bool(row["label_faithful"]),
        )
    for (question, _), rows in answers.items():
        if len(rows) > 1:
            contexts = tuple(dict.fromkeys(c for row in rows for c in row["contexts"]))
            yield Row(
                "expertqa_answer",
                f"expertqa:{question}",
                rows[0]["question"],
                contexts,
                "\n".join(row["answer"] for row in rows),
                all(row["label_faithful"] for row in rows),
            )


def clapnq(folder: Path) -> Iterator[Row]:
    """CLAPNQ gold answers with their passage and neighbours, or with neighbours only."""
    rows = [row for row in load(folder, "clapnq_dev") if row["dataset"] == "clapnq"]
    passages = [row["contexts"][0] for row in rows]
    words = [set(p.lower().split()) for p in passages]
    draw = random.Random(7)
    for number, row in enumerate(rows):
        if not row["answer"]:
            continue
        asked = set(row["question"].lower().split())
        near = sorted(
            (i for i in range(len(rows)) if i != number),
            key=lambda i: -len(words[i] & (words[number] | asked)) / (30 + len(words[i])),
        )[:3]
        neighbours = [passages[i] for i in near]
        group = row["id"]
        mixed = [passages[number], *neighbours[:2]]
        draw.shuffle(mixed)
        answer = row["answer"]
        yield Row("clapnq", group, row["question"], tuple(mixed), answer, supported=True)
        yield Row(
            "clapnq_withheld", group, row["question"], tuple(neighbours), answer, supported=False
        )
        yield from _with_additions(row, mixed, draw)


def _with_additions(
    row: dict[str, Any],
    contexts: list[str],
    draw: random.Random,
) -> Iterator[Row]:
    """A long answer of the passages' own words, alone and with a sentence they do not hold."""
    sentences = [s.text for context in contexts[:1] for s in split_sentences(context)]
    if len(sentences) < 4:
        return
    hidden = draw.randrange(1, len(sentences))
    body = [row["answer"], *draw.sample(sentences[:hidden] + sentences[hidden + 1 :], 2)]
    question, group = row["question"], row["id"]
    yield Row("clapnq_long", group, question, tuple(contexts), " ".join(body), supported=True)
    kept = tuple(c.replace(sentences[hidden], " ") for c in contexts)
    body.insert(draw.randrange(1, 4), sentences[hidden])
    yield Row("clapnq_added", group, question, kept, " ".join(body), supported=False)


def halueval(folder: Path) -> Iterator[Row]:
    """HaluEval pairs whose two answers are about equally long: length must not give them away."""
    pairs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in load(folder, "halueval_qa_first1000"):
        pairs[row["id"].split(":")[1]].append(row)
    for number, pair in pairs.items():
        lengths = [len(row["answer"].split()) for row in pair]
        if max(lengths) > 1.5 * min(lengths) + 2:
            continue
        for row in pair:
            yield Row(
                "halueval",
                f"halueval:{number}",
                row["question"],
                tuple(row["contexts"]),
                row["answer"],
                bool(row["label_faithful"]),
            )


def uhgeval(folder: Path) -> Iterator[Row]:
    """UHGEval: continuations, and their keywords as short statements."""
    for row in load(folder, "uhgeval_zh"):
        group = "uhgeval:" + row["id"].split(":")[1]
        contexts = tuple(row["contexts"])
        yield Row("uhgeval", group, "", contexts, row["answer"], bool(row["label_faithful"]), 0.5)
        if row["label_faithful"]:
            continue
        for start, end, reasonable in row["extra"]["keywords"]:
            yield Row(
                "uhgeval_keyword",
                group,
                "",
                contexts,
                row["answer"][start:end],
                bool(reasonable),
                0.3,
            )


def synthetic(folder: Path) -> Iterator[Row]:
    """Sentences of the passages: shortened, and with one fact changed or the sentence withheld."""
    draw = random.Random(11)
    for name, corpus in (
        ("clapnq_dev", "made_en"),
        ("expertqa_claims", "made_en"),
        ("uhgeval_zh", "made_zh"),
    ):
        rows = load(folder, name)
        if name == "expertqa_claims":
            rows = rows[::4]
        for row in rows:
            contexts = tuple(row["contexts"] or ())
            found = [
                s.text for c in contexts for s in split_sentences(c) if 12 <= len(s.text) <= 220
            ]
            if len(found) < 4:
                continue
            chosen = draw.choice(found)
            group = row["id"].rsplit(":", 1)[0] if name == "uhgeval_zh" else row["id"]
            if name == "expertqa_claims":
                group = "expertqa:" + row["id"].split(":")[1]
            shorter = _shortened(chosen, draw)
            yield Row(corpus, group, "", contexts, shorter, supported=True, weight=0.5)
            kept = tuple(c.replace(chosen, " ") for c in contexts)
            yield Row(corpus + "_withheld", group, "", kept, shorter, supported=False, weight=0.5)
            changed = perturb(chosen, draw)
            if changed:
                yield Row(
                    corpus + "_" + changed.kind,
                    group,
                    "",
                    contexts,
                    changed.text,
                    supported=False,
                    weight=0.5,
                )


def _shortened(sentence: str, draw: random.Random) -> str:
    """A sentence without one of its inner clauses, which keeps it supported."""
    mark = "，" if "，" in sentence else ","
    parts = sentence.split(mark)
    if len(parts) >= 3:
        parts.pop(draw.randrange(1, len(parts) - 1))
    return mark.join(parts)


def everyday(folder: Path = WRITTEN) -> Iterator[dict[str, Any]]:
    """Answers written for the project about everyday documents, shaped as the data files' rows.

    Every line of `written_answers/*.jsonl` is under the licence of the project; the first ones of
    both languages and the third English ones are learnt from (`everyday_rows`), the others are not.
    Of answers that are not supported mostly one detail is wrong, beside wording as near as a
    model's; supported ones are reworded, merged or reckoned as often as repeated.
    """
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            row = json.loads(line)
            yield {
                "id": f"everyday:{path.stem}-{number}",
                "dataset": f"everyday_{path.stem}",
                "question": row["question"],
                "contexts": row["passages"],
                "answer": row["answer"],
                "label_faithful": int(row["supported"]),
                "model": None,
            }


def everyday_rows() -> Iterator[Row]:
    """The everyday answers that were looked at; nothing is learnt from the others."""
    for row in everyday():
        if row["dataset"] in EVERYDAY_SEEN:
            yield Row(
                row["dataset"],
                f"everyday:{row['contexts'][0]}",
                row["question"],
                tuple(row["contexts"]),
                row["answer"],
                bool(row["label_faithful"]),
            )


def all_rows(folder: Path) -> list[Row]:
    """Every training row, in a fixed order."""
    makers = (wice, wice_train, expertqa, clapnq, halueval, uhgeval, synthetic)
    return [*(row for maker in makers for row in maker(folder)), *everyday_rows()]
