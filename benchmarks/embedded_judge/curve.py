"""How an encoder does on what it never saw, checkpoint by checkpoint; adds a line to a JSON file.

Usage: `python -m benchmarks.embedded_judge.curve DATA_FOLDER BASE_FOLDER CHECKPOINT CURVE_FILE
[--answers FOLDER] [--brief] [--step N]`

CHECKPOINT is a `model-STEP.safetensors` of `train_encoder`, or the folder of an int8 encoder.

AUROC of the encoder alone, read once beside the judge's own evidence, as the text of each set says.
The shipped encoder (a68c580866c4) is step 780 of `encoder_curve.json`. Step 965 was trained on from
it and was no better, so it is not shipped. Both were measured anew on 2026-11-26 with the evidence
and units of that day, step 400 with those before.
`*_contrary`: supported against contradicted statements, by contradiction and by doubt. Answers of
several statements count as doubtful as their worst statement. RAGTruth (never learnt from) and the
validation halves only: nothing that is *once*.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors.torch import load_file

from benchmarks.embedded_judge import rag_answers, splits
from benchmarks.embedded_judge.corpora import Row, expertqa, load
from benchmarks.embedded_judge.entailment import (
    CONTRADICTED,
    DETAILS,
    SUPPORTED,
    UNSUPPORTED,
    Entailment,
    public_pairs,
    written_pairs,
)
from benchmarks.embedded_judge.evaluate import auroc
from benchmarks.embedded_judge.pairs import held_out, pairs_of
from benchmarks.embedded_judge.train_encoder import base_model, encode, size, tokenizer_of
from benchmarks.embedded_judge.written import statements
from rag_monitor.judges.embedded.encoder import load_encoder

MOST: Final = {
    "vitaminc_real": 240, "fool_me_twice": 200, "summedits_podcast": 40, "summedits_news": 60,
    "summedits_sales_call": 40, "summedits_qmsumm": 40, "citecheck": 90, "cmrc": 120, "drcd": 60,
}  # fmt: skip
MOST_DETAILS: Final = 360
MOST_EXPERT: Final = 160
MOST_ANSWERS: Final = 90

Said = list[tuple[float, float]]
"""Contradiction and missing support of each pair."""


def sets(folder: Path, answers: Path, *, brief: bool) -> Iterator[tuple[str, list[Entailment]]]:
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


def reader(base: Path, checkpoint: Path) -> Callable[[Sequence[Entailment]], Said]:
    """What tells what a checkpoint, or an int8 encoder, says of pairs."""
    if checkpoint.is_dir():
        encoder = load_encoder(checkpoint, 1)
        return lambda pairs: encoder.logits([(pair.claim, pair.evidence) for pair in pairs])
    model = base_model(base)
    model.load_state_dict(load_file(checkpoint))
    model.eval()
    return partial(said_by, model, tokenizer_of(base))


def said_by(model: Any, tokenizer: Any, pairs: Sequence[Entailment]) -> Said:
    """What a model says of every pair."""
    order = sorted(range(len(pairs)), key=lambda n: size(pairs[n]))
    found: Said = [(0.0, 0.0)] * len(pairs)
    with torch.no_grad():
        for start in range(0, len(order), 8):
            places = order[start : start + 8]
            fed = encode(tokenizer, [(pairs[n].claim, pairs[n].evidence) for n in places])
            logits = model(**fed)
            odds = logits[:, [CONTRADICTED, UNSUPPORTED]] - logits[:, [SUPPORTED]]
            found = _filled(found, places, odds.tolist())
    return found


def _filled(found: Said, places: Sequence[int], odds: Sequence[Sequence[float]]) -> Said:
    for place, (a, b) in zip(places, odds, strict=True):
        found[place] = (a, b)
    return found


def figures(name: str, pairs: Sequence[Entailment], said: Said) -> dict[str, float]:
    """Areas of one set."""
    odds = np.array(said)
    labels = np.array([pair.label for pair in pairs])
    doubt = np.logaddexp(odds[:, 0], odds[:, 1])
    if name in {"expertqa", "ragtruth"}:
        answers: dict[str, list[int]] = defaultdict(list)
        for place, pair in enumerate(pairs):
            answers[pair.unit].append(place)
        worst = np.array([doubt[places].max() for places in answers.values()])
        bad = np.array([float(labels[places[0]] != SUPPORTED) for places in answers.values()])
        return {name: _area(bad, worst), f"{name}_rows": len(bad)}
    found = {name: _area((labels != SUPPORTED).astype(float), doubt), f"{name}_rows": len(pairs)}
    near = labels != UNSUPPORTED
    if (~near).any() and (labels == CONTRADICTED).any():
        contrary = (labels[near] == CONTRADICTED).astype(float)
        found[f"{name}_contrary"] = _area(contrary, doubt[near])
        found[f"{name}_contrary_by_contradiction"] = _area(contrary, odds[near, 0])
        added = labels != CONTRADICTED
        found[f"{name}_added"] = _area((labels[added] == UNSUPPORTED).astype(float), doubt[added])
    return found


def _area(positive: np.ndarray, doubt: np.ndarray) -> float:
    return round(float(auroc(positive, doubt)), 3)


def main() -> None:
    """Measure one checkpoint and add it to the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("curve", type=Path)
    parser.add_argument("--answers", type=Path, default=rag_answers.FOLDER)
    parser.add_argument("--brief", action="store_true", help="leave out ExpertQA and RAGTruth")
    parser.add_argument("--step", type=int, help="step that the line names")
    given = parser.parse_args()
    torch.set_num_threads(1)
    say = reader(given.base, given.checkpoint)
    step = given.step
    if step is None:
        step = int(given.checkpoint.stem.rpartition("-")[2])
    found: dict[str, Any] = {"step": step}
    for name, pairs in sets(given.data, given.answers, brief=given.brief):
        if pairs:
            found |= figures(name, pairs, say(pairs))
            print(name, {k: v for k, v in found.items() if k.startswith(name)}, flush=True)
    lines = json.loads(given.curve.read_text(encoding="utf-8")) if given.curve.exists() else []
    lines = [line for line in lines if line["step"] != found["step"]] + [found]
    given.curve.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
