"""Learn how much the shipped encoder's word counts beside the lexical evidence.

Usage: `python -m benchmarks.embedded_judge.combine DATA_FOLDER`
Reads the encoder in `rag_monitor/judges/embedded/shipped` and the lexical weights, writes
`weights.json` beside it and prints what was learnt as JSON. Only rows that the encoder was
not trained on are used: one source in four, WiCE dev, one written premise in eight. The lexical
weights keep their proportions; learnt are the encoder's weight and a shift. Both are then scaled so
that a claim's doubt means what it means without an encoder: the floors of the checks are in its
units. The answer's calibration is learnt anew. Needs scipy.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.embedded_judge.corpora import Row, all_rows
from benchmarks.embedded_judge.pairs import UNSEEN, held_out
from benchmarks.embedded_judge.train import (
    MIX,
    PRIOR,
    TARGET,
    Sample,
    Vector,
    calibration,
    corpus_weights,
    held_out_figures,
    platt,
    samples,
)
from benchmarks.embedded_judge.written import statements
from rag_monitor.judges.embedded.encoder import OnnxEncoder, shipped_encoder
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.model import Model, heed, settle
from rag_monitor.judges.embedded.packing import reading
from rag_monitor.language.script import has_han

VERSION = "8"
READ = frozenset({"en", "zh"})
"""Languages whose statements the encoder is asked about."""
WRITTEN = {"en": {"written_en": 0.5}, "zh": {"written_zh": 1.0}}
"""How much what was written for the project counts, beside the corpora of `train.MIX`."""
HEAVIEST = {"en": 0.35, "zh": 3.0}
"""The English encoder may weigh no more than what costs nothing on WiCE dev: free it would take .61
and .02 of the AUROC there, and .01 on RAGTruth, for .02 on everyday answers."""
ALONE = {"en": 2.0, "zh": 1.0}
"""How many times its weight the encoder's word has for the only claim of an answer to a question.
English everyday answers gain .00 to .02 by it, ExpertQA .03, and long answers lose nothing; by 3
they gain .00 to .02 more, but then it overrules words that are right (a warranty of two years for
one of 24 months). In Chinese, where it weighs twice as much, some gain and some lose."""


def rows_unseen(folder: Path) -> list[Row]:
    """Rows that no encoder of ours was trained on."""
    kept = [row for row in all_rows(folder) if row.corpus in UNSEEN or held_out(row.group)]
    for said in statements():
        if said.held_out:
            corpus = "written_zh" if has_han(said.text) else "written_en"
            kept.append(Row(corpus, said.premise, "", (said.premise,), said.text, said.supported))
    return kept


def said_by(encoder: OnnxEncoder, sample: Sample) -> Vector:
    """What the encoder says of every claim of a row; nothing where there is no evidence to read."""
    evidence = Evidence.build(sample.row.contexts, sample.row.question)
    pairs = [reading(claim.piece, evidence) for claim in sample.claims]
    asked = [n for n, (_, text) in enumerate(pairs) if text]
    found = np.zeros(len(sample.claims))
    if asked:
        found[asked] = encoder.doubts([pairs[n] for n in asked])
    return found


def fit(
    chosen: list[Sample],
    lexical: list[Vector],
    said: list[Vector],
    mix: dict[str, float],
    heaviest: float,
) -> tuple[float, float]:
    """The encoder's weight, not negative, and a shift; an answer holds when all its claims do."""
    owner = np.repeat(np.arange(len(chosen)), [len(s) for s in said])
    words, read = np.concatenate(lexical), np.concatenate(said)
    doubted = np.array([not s.row.supported for s in chosen])
    weights = corpus_weights(chosen, mix)

    def loss(theta: Vector) -> float:
        doubt = words + theta[0] * read + theta[1]
        holds = np.minimum(np.bincount(owner, -np.logaddexp(0, doubt), len(chosen)), -1e-9)
        return -float((weights * np.where(doubted, np.log(-np.expm1(holds)), holds)).sum())

    solved = minimize(
        loss,
        np.array([min(0.5, heaviest), 0.0]),
        method="L-BFGS-B",
        bounds=[(0, heaviest), (-2, 2)],
    )
    return float(solved.x[0]), float(solved.x[1])


def learn(
    every: list[Sample],
    said: list[Vector],
    language: str,
    start: dict[str, Any],
    words_alone: Model,
) -> dict[str, Any]:
    """Weights, calibration and figures of one language."""
    mix = {**MIX[language], **WRITTEN[language]}
    places = [n for n, s in enumerate(every) if s.row.corpus in mix]
    chosen = [every[n] for n in places]
    lexical = [s.features @ np.array(start["claim"]) + start["bias"] for s in chosen]
    before = replace(words_alone.of_language(language), alone=ALONE[language])
    read = [heed(before, every[n].claims) * said[n] for n in places]
    weight, shift = fit(chosen, lexical, read, mix, HEAVIEST[language])
    mixed = [plain + weight * told + shift for plain, told in zip(lexical, read, strict=True)]
    scale, moved = as_before(chosen, mixed, mix, start)
    plain, settled = (
        [
            [settle(claim, float(d))[1] for claim, d in zip(s.claims, raw, strict=True)]
            for s, raw in zip(chosen, doubts, strict=True)
        ]
        for doubts in (lexical, [scale * raw + moved for raw in mixed])
    )
    return {
        "claim": [round(scale * value, 5) for value in start["claim"]],
        "bias": round(scale * (start["bias"] + shift) + moved, 5),
        "encoder": round(scale * weight, 5),
        "alone": ALONE[language],
        **calibration(chosen, settled, language, mix),
        "slope": start["slope"],
        "shift": start["shift"],
        "auroc": held_out_figures(chosen, settled),
        "auroc_by_words": held_out_figures(chosen, plain),
    }


def as_before(
    chosen: list[Sample], mixed: list[Vector], mix: dict[str, float], start: dict[str, Any]
) -> tuple[float, float]:
    """Scale and shift after which the old calibration of claims fits the new doubts."""
    single = [n for n, raw in enumerate(mixed) if len(raw) == 1]
    doubted = np.array([not chosen[n].row.supported for n in single], float)
    raw = np.array([mixed[n][0] for n in single])
    slope, shift = platt(raw, doubted, corpus_weights(chosen, mix)[single], PRIOR)
    return slope / start["slope"], (shift - start["shift"]) / start["slope"]


def main(folder: Path) -> None:
    """Learn both languages and write the weights."""
    packed = TARGET.read_bytes()
    data, encoder = json.loads(packed), shipped_encoder(2)
    words_alone = Model(packed)
    every = samples(rows_unseen(folder))
    said = [said_by(encoder, sample) for sample in every]
    mixed = {
        language: learn(every, said, language, start, words_alone)
        for language, start in data["languages"].items()
    }
    learnt = {
        "version": VERSION,
        "features": data["features"],
        "encoder": encoder.version,
        "languages": {
            language: mixed[language] if language in READ else data["languages"][language]
            for language in mixed
        },
    }
    target = TARGET.parent / "shipped" / "weights.json"
    target.write_text(json.dumps(learnt, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({"shipped": learnt, "had_it_been_read": mixed}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
