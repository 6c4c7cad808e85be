"""How much evidence an encoder has to read beside a claim: tokens against AUROC.

Usage: `python -m benchmarks.embedded_judge.evidence_length DATA_FOLDER [--most N]
[--encoder FOLDER]`

Rows of the roles *learn* and *choose* that the encoder did not learn from, at most `--most` of a
set (all RAG answers). For each of `CANDIDATES` prints the mean tokens of a reading and, as means
over sets of a language, the AUROC of what the encoder alone says (of labelled sentences, else of an
answer's most doubtful claim) and of the judge's most doubtful claim, whose weights are learnt anew
for it and score only the fold they were not learnt on.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.embedded_judge import sets
from benchmarks.embedded_judge.evaluate import auroc
from benchmarks.embedded_judge.samples import Sample, ask, samples
from benchmarks.embedded_judge.train import TERMS, doubts, fit_claims, lessons, mean_read
from rag_monitor.judges.embedded.encoder import Encoder, load_encoder, shipped_encoder
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.packing import Limits, reading

CANDIDATES: Final = (
    Limits(420, 4, 0.8),
    Limits(420, 4, 0.3),
    Limits(420, 1, 0.8),
)
LEAST: Final = 20
"""Rows of a set, and 6 of each kind, below which its AUROC says nothing."""
LEAST_OF_A_KIND: Final = 6

Doubted = dict[str, list[tuple[bool, float]]]
"""Of each set whether a row is unsupported, and its doubt."""


def read_again(found: Sequence[Sample], evidence: Sequence[EvidenceIndex], limits: Limits) -> None:
    """Choose the evidence of every claim anew."""
    for one, known in zip(found, evidence, strict=True):
        pairs = [
            None if settled is not None else reading(claim.segment, known, limits)
            for claim, settled in zip(one.claims, one.settled, strict=True)
        ]
        one.readings = [pair if pair and pair[1] else None for pair in pairs]


def alone(found: Sequence[Sample]) -> Doubted:
    """What the encoder says without the features; claims that it did not read are left out."""
    said: Doubted = defaultdict(list)
    for one in found:
        odds = [None if read is None else float(np.logaddexp(*read)) for read in one.read]
        if one.labels:
            for label, doubt in zip(one.labels, odds, strict=True):
                if doubt is not None and label != "none":
                    said[one.row.corpus].append((label != "supported", doubt))
        elif any(doubt is not None for doubt in odds):
            worst = max(doubt for doubt in odds if doubt is not None)
            said[one.row.corpus].append((not one.row.supported, worst))
    return said


def judged(found: Sequence[Sample], language: str) -> Doubted:
    """The greatest doubt of an answer, by weights that its fold did not teach."""
    own = [one for one in found if one.row.language == language]
    columns = range(len(TERMS))
    unread = mean_read(own)
    said: Doubted = defaultdict(list)
    for fold in range(sets.FOLDS):
        taught = [one for one in own if one.row.fold != fold]
        fitted = fit_claims(lessons(taught, unread), columns)
        for one in own:
            if one.row.fold == fold:
                raw = float(doubts(one, fitted, columns, unread).max())
                said[one.row.corpus].append((not one.row.supported, raw))
    return said


def areas(said: Doubted) -> dict[str, float]:
    """AUROC of every set that is large enough."""
    found = {}
    for corpus, rows in sorted(said.items()):
        bad = np.array([wrong for wrong, _ in rows], float)
        least = min(bad.sum(), len(bad) - bad.sum())
        if len(bad) >= LEAST and least >= LEAST_OF_A_KIND:
            found[corpus] = auroc(bad, np.array([doubt for _, doubt in rows]))
    return found


def main(folder: Path, encoder: Encoder, most: int) -> None:
    """Measure every candidate and print a line for each."""
    taken: Counter[str] = Counter()
    rows = []
    for row in sets.sampled(folder, unread=True):
        taken[row.corpus] += 1
        if taken[row.corpus] <= most or row.corpus.startswith("rag_"):
            rows.append(row)
    found = samples(rows)
    evidence = [EvidenceIndex.build(one.row.contexts, one.row.question) for one in found]
    for limits in CANDIDATES:
        read_again(found, evidence, limits)
        ask(found, encoder)
        pairs = [pair for one in found for pair in one.readings if pair]
        rag = [
            sum(encoder.sizes([pair for pair in one.readings if pair]))
            for one in found
            if one.row.corpus.startswith("rag_")
        ]
        said = alone(found)
        line: dict[str, object] = {
            "units": limits.units, "sentences": limits.sentences, "gain": limits.gain,
            "tokens": round(float(np.mean(encoder.sizes(pairs))), 1),
            "tokens_of_rag_answer": round(float(np.mean(rag))),
        }  # fmt: skip
        for language in ("en", "zh"):
            names = {one.row.corpus for one in found if one.row.language == language}
            own = areas({name: rows for name, rows in said.items() if name in names})
            whole = areas(judged(found, language))
            line |= {
                f"{language}_alone": round(float(np.mean(list(own.values()))), 4),
                f"{language}_judge": round(float(np.mean(list(whole.values()))), 4),
                f"{language}_sets": len(whole),
            }
            line |= {
                f"rag_{language}_alone": round(own[f"rag_{language}"], 3),
                f"details_{language}_alone": round(own[f"details_{language}"], 3),
            }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--most", type=int, default=40)
    arguments.add_argument("--encoder", type=Path, help="folder of another than the shipped one")
    chosen = arguments.parse_args()
    reader = load_encoder(chosen.encoder, 1) if chosen.encoder else shipped_encoder(1)
    main(chosen.folder, reader, chosen.most)
