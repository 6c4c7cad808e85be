"""The shipped encoder's last stage: it learns on, with answers that it has not seen.

Usage: `python -m benchmarks.embedded_judge.refine_encoder PAIRS_FILE VALIDATION_FILE OUT_FOLDER
--student FOLDER --multilingual FOLDER [--seconds N] [--device cpu|cuda]`

PAIRS_FILE is of `pairs`, VALIDATION_FILE of `validation`, the student of `restore` (what
`distil_encoder` made), the multilingual base of `multilingual_base`. A teacher of all twelve layers
and the student both learn the labels; a second student then starts where the first one did and
learns what those two and itself, as it was, say of every pair. What is written, for
`export_encoder`, are both students and the mean of their weights (Wortsman et al., 2022: models of
one start that learnt apart are often better averaged), and `validation.json`, the AUROC of each on
each set, which chooses between them. Word embeddings stay as they are.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from safetensors.torch import save_file

from benchmarks.embedded_judge.distil_encoder import DROPOUT, MOST, areas
from benchmarks.embedded_judge.train_encoder import (
    CrossEncoder,
    Floats,
    Plan,
    Read,
    base_model,
    logits_of,
    read,
    tokenizer_of,
    train,
)
from benchmarks.embedded_judge.training_pairs import UNLABELLED, Entailment, read_pairs

REPEATED: Final = {"rag_en": 3, "rag_zh": 3, "natural_en": 4, "natural_zh": 4}
NEW: Final = ("natural_",)
"""Corpora that the student has not learnt from: what it said of them before does not count."""
SHARES: Final = {"teacher": 0.42, "labels": 0.66, "both": 0.97}
"""When each model is done, as a share of the time."""
EPOCHS: Final = {"teacher": 5, "labels": 4, "both": 6}
RATES: Final = {"teacher": 2e-4, "labels": 1e-4, "both": 1e-4}


class Run:
    """What the models have in common."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.began = time.monotonic()
        self.given = given
        self.pairs = read_pairs(given.pairs)
        self.validation = read_pairs(given.validation)
        self.figures: dict[str, Mapping[str, float]] = {}
        given.out.mkdir(parents=True, exist_ok=True)

    def rows(self, base: Path, pairs: Sequence[Entailment]) -> list[Read]:
        """Pairs in the word pieces of a base."""
        return read(tokenizer_of(base), [(pair.claim, pair.evidence) for pair in pairs])

    def learn(
        self, name: str, model: CrossEncoder, rows: Sequence[Read], taught: Floats | None
    ) -> CrossEncoder:
        """A model that has learnt all pairs."""
        plan = Plan(
            pairs=self.pairs,
            rows=rows,
            epochs=EPOCHS[name],
            rate=RATES[name],
            decay=0.95,
            most=MOST,
            repeated=REPEATED,
            taught=taught,
            until=self.began + SHARES[name] * self.given.seconds,
        )
        return train(model, plan, self.given.device)

    def measure(self, name: str, model: CrossEncoder, seen: Sequence[Read]) -> None:
        """Keep and print what a model is worth."""
        logits = logits_of(model, seen, self.given.device)
        self.figures[name] = areas(self.validation, logits)
        passed = round(time.monotonic() - self.began)
        print(json.dumps({name: self.figures[name], "at": passed}), flush=True)
        text = json.dumps(self.figures, indent=1) + "\n"
        (self.given.out / "validation.json").write_text(text, encoding="utf-8")

    def keep(self, name: str, model: CrossEncoder) -> None:
        """Write a model's weights."""
        weights = {k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}
        save_file(weights, self.given.out / f"{name}.safetensors")


def averaged(one: CrossEncoder, other: CrossEncoder, into: CrossEncoder) -> CrossEncoder:
    """A model with the mean weights of two of its shape."""
    first, second = one.state_dict(), other.state_dict()
    into.load_state_dict({name: (first[name] + second[name]) / 2 for name in first})
    return into.to(next(one.parameters()).device)


def main() -> None:
    """Teach the teacher, then the student twice."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=Path)
    parser.add_argument("validation", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--student", type=Path, required=True)
    parser.add_argument("--multilingual", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=520)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    run = Run(given)
    print(json.dumps({"pairs": len(run.pairs), "validation": len(run.validation)}), flush=True)
    rows = run.rows(given.student, run.pairs)
    seen = run.rows(given.student, run.validation)
    start = base_model(given.student)
    run.measure("before", start, seen)
    before = logits_of(start, rows, given.device)
    teacher = run.learn("teacher", base_model(given.multilingual, dropout=DROPOUT), rows, None)
    run.measure("teacher", teacher, seen)
    of_teacher = logits_of(teacher, rows, given.device)
    labels = run.learn("labels", base_model(given.student, dropout=DROPOUT), rows, None)
    run.measure("labels", labels, seen)
    run.keep("labels", labels)
    taught = (of_teacher + logits_of(labels, rows, given.device) + before) / 3
    new = np.array([p.corpus.startswith(NEW) and p.label != UNLABELLED for p in run.pairs])
    taught[new] = (3 * taught[new] - before[new]) / 2
    both = run.learn("both", base_model(given.student, dropout=DROPOUT), rows, taught)
    run.measure("both", both, seen)
    run.keep("both", both)
    run.measure("mean", averaged(labels, both, start), seen)
    run.keep("mean", start)


if __name__ == "__main__":
    main()
