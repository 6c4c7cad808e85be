"""The shipped encoder's recipe: two teachers, and a student that learns what they say.

Usage: `python -m benchmarks.embedded_judge.distil_encoder PAIRS_FILE VALIDATION_FILE OUT_FOLDER
--english FOLDER --multilingual FOLDER [--seconds N] [--epochs N N N] [--device cpu|cuda]`

PAIRS_FILE is of `pairs`, VALIDATION_FILE of `validation`. The English teacher starts from
all-mpnet-base-v2 (Apache-2.0), the multilingual one from all twelve layers of multilingual-e5-small
(`multilingual_base`). Both learn the labels. The student starts from some layers of the
multilingual teacher and learns what both say of every pair, those that nobody labelled too; where
the English one can read, it counts three times. Writes `student.safetensors`, for `export_encoder`,
and `validation.json`, the AUROC of each model on each set. Word embeddings stay as they are.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from safetensors.torch import save_file
from sklearn.metrics import roc_auc_score

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
from benchmarks.embedded_judge.training_pairs import SUPPORTED, Entailment, read_pairs

MOST: Final = {"": 9_000, "unlabelled": 25_000, "vitaminc_real": 14_000, "infotabs": 5_000}
REPEATED: Final = {"rag_en": 3, "rag_zh": 3}
ENGLISH_COUNTS: Final = 3
"""The English teacher's share beside the multilingual one's."""
LAYERS: Final = (0, 2, 3, 5, 6, 8, 9, 11)
"""Layers of the multilingual teacher that the student starts from."""
SHARES: Final = {"english": 0.2, "multilingual": 0.62, "student": 1.0}
"""When each model is done, as a share of the time."""
RATES: Final = {"english": 4e-5, "multilingual": 2e-4, "student": 2e-4}
DROPOUT: Final = 0.1
"""Pairs are seen several times."""
BY_ANSWER: Final = frozenset({"expertqa", "ragtruth"})
"""Validation sets whose labels are of whole answers; the worst statement counts."""


def is_english(pair: Entailment) -> bool:
    """Whether an English model can read a pair: next to no letters beyond Latin ones."""
    text = pair.claim + pair.evidence
    return sum(letter > "\u02ff" for letter in text) < 0.05 * len(text)


def areas(pairs: Sequence[Entailment], logits: Floats) -> dict[str, float]:
    """AUROC of doubt on each validation set."""
    doubt = np.logaddexp(logits[:, 1], logits[:, 2]) - logits[:, SUPPORTED]
    by: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, pair in enumerate(pairs):
        unit = pair.unit if pair.corpus in BY_ANSWER else str(place)
        by[pair.corpus][unit].append(place)
    found = {}
    for name, units in by.items():
        bad = [pairs[places[0]].label != SUPPORTED for places in units.values()]
        worst = [doubt[places].max() for places in units.values()]
        found[name] = round(float(roc_auc_score(bad, worst)), 3)
    found["mean"] = round(sum(found.values()) / len(found), 3)
    return found


def keep_layers(model: CrossEncoder, layers: Sequence[int]) -> CrossEncoder:
    """The model with some of its layers."""
    kept = [model.encoder.encoder.layer[number] for number in layers]
    model.encoder.encoder.layer = torch.nn.ModuleList(kept)
    model.encoder.config.num_hidden_layers = len(kept)
    return model


class Run:
    """What the models have in common."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.began = time.monotonic()
        self.given = given
        self.pairs = read_pairs(given.pairs)
        self.validation = read_pairs(given.validation)
        self.figures: dict[str, Mapping[str, float]] = {}

    def read(self, base: Path, pairs: Sequence[Entailment]) -> list[Read]:
        """Pairs in the word pieces of a base."""
        return read(tokenizer_of(base), [(pair.claim, pair.evidence) for pair in pairs])

    def plan(
        self, name: str, pairs: Sequence[Entailment], rows: Sequence[Read], taught: Floats | None
    ) -> Plan:
        """How a model of this name learns."""
        return Plan(
            pairs=pairs,
            rows=rows,
            epochs=self.given.epochs[list(RATES).index(name)],
            rate=RATES[name],
            decay=0.9 if name == "english" else 0.95,
            most=MOST,
            repeated=REPEATED,
            taught=taught,
            until=self.began + SHARES[name] * self.given.seconds,
        )

    def say(self, name: str, said: Sequence[Entailment], logits: Floats) -> None:
        """Keep and print what a model is worth."""
        self.figures[name] = areas(said, logits)
        passed = round(time.monotonic() - self.began)
        print(json.dumps({name: self.figures[name], "at": passed}), flush=True)


def taught_by_english(run: Run) -> tuple[list[int], Floats]:
    """Places of the pairs that the English teacher can read, and what it says of them."""
    base, device = run.given.english, run.given.device
    places = [n for n, pair in enumerate(run.pairs) if is_english(pair)]
    pairs = [run.pairs[n] for n in places]
    rows = run.read(base, pairs)
    model = base_model(base, "eager", DROPOUT)
    model = train(model, run.plan("english", pairs, rows, None), device)
    said = [pair for pair in run.validation if is_english(pair)]
    run.say("english", said, logits_of(model, run.read(base, said), device))
    return places, logits_of(model, rows, device)


def main() -> None:
    """Teach the teachers, then the students."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=Path)
    parser.add_argument("validation", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--english", type=Path, required=True)
    parser.add_argument("--multilingual", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--epochs", type=int, nargs=3, default=(3, 5, 8))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    run = Run(given)
    print(json.dumps({"pairs": len(run.pairs), "validation": len(run.validation)}), flush=True)
    places, english = taught_by_english(run)
    rows = run.read(given.multilingual, run.pairs)
    seen = run.read(given.multilingual, run.validation)
    teacher = base_model(given.multilingual, dropout=DROPOUT)
    teacher = train(teacher, run.plan("multilingual", run.pairs, rows, None), given.device)
    run.say("multilingual", run.validation, logits_of(teacher, seen, given.device))
    taught = logits_of(teacher, rows, given.device)
    taught[places] = (taught[places] + ENGLISH_COUNTS * english) / (1 + ENGLISH_COUNTS)
    student = keep_layers(teacher, LAYERS)
    student = train(student, run.plan("student", run.pairs, rows, taught), given.device)
    run.say("student", run.validation, logits_of(student, seen, given.device))
    weights = {k: v.detach().cpu().contiguous() for k, v in student.state_dict().items()}
    save_file(weights, given.out / "student.safetensors")
    text = json.dumps(run.figures, indent=1) + "\n"
    (given.out / "validation.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
