"""What an encoder adds to the lexical evidence, and what it costs. Prints one JSON object.

Usage: `python -m benchmarks.embedded_judge.encoder DATA_FOLDER ENCODER_FOLDER`
Rows no encoder of ours was trained on: RAGTruth, WiCE and the English everyday answers as a whole,
of ExpertQA and HaluEval one source in four, and the first 300 of OCNLI. AUROC of the encoder alone,
and of lexical doubt plus `w` times the encoder's, claim by claim, with the 95 % interval (bootstrap
over sources) of the difference to lexical doubt alone on the same rows.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.embedded_judge.corpora import Row, everyday, expertqa, halueval, load, wice
from benchmarks.embedded_judge.evaluate import auroc, group, interval
from benchmarks.embedded_judge.pairs import held_out
from benchmarks.embedded_judge.speed import english
from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.judges.embedded.encoder import OnnxEncoder, load_encoder
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.features import look_up_all
from rag_monitor.judges.embedded.model import lexical, settle, total_doubt
from rag_monitor.judges.embedded.options import EmbeddedOptions
from rag_monitor.judges.embedded.packing import reading
from rag_monitor.language.claims import take_apart

WEIGHTS = (0.1, 0.25, 0.5, 1.0)
WINDOW = EmbeddedOptions().encoder_window
TRACES = 30
MOST_ROWS = 300
"""Of OCNLI, so many rows."""


@dataclass(frozen=True, slots=True)
class Read:
    """One answer: its label, and lexical and encoder doubt of every claim."""

    group: str
    supported: bool
    words: list[Any]
    encoder: list[float]


def sets(folder: Path) -> Iterator[tuple[str, list[Row]]]:
    """Every data set with its rows."""
    of_ragtruth = [r for r in load(folder, "ragtruth_qa_dev") if r["dataset"] == "ragtruth"]
    of_ocnli = [r for r in load(folder, "ocnli_zh_dev") if r["dataset"] == "ocnli"]
    everyday_en = [r for r in everyday() if r["dataset"].endswith("_en")]
    yield "ragtruth", _rows("ragtruth", of_ragtruth)
    yield "ocnli", _rows("ocnli", of_ocnli[:MOST_ROWS])
    yield "everyday_en", _rows("everyday_en", everyday_en)
    yield "wice", [row for row in wice(folder) if row.corpus == "wice"]
    for name, rows in (("expertqa", expertqa(folder)), ("halueval", halueval(folder))):
        yield name, [row for row in rows if row.corpus == name and held_out(row.group)]


def _rows(corpus: str, rows: Iterable[dict[str, Any]]) -> list[Row]:
    return [
        Row(
            corpus,
            group(row),
            row["question"] or "",
            tuple(row["contexts"]),
            row["answer"],
            bool(row["label_faithful"]),
        )
        for row in rows
    ]


def read(rows: list[Row], encoder: OnnxEncoder) -> list[Read]:
    """Look every claim up and let the encoder read it."""
    model = lexical()
    found, pairs = [], []
    for row in rows:
        evidence = Evidence.build(row.contexts, row.question)
        claims = look_up_all(take_apart(row.answer).claims, evidence, row.answer)
        if claims:
            found.append((row, claims))
            pairs.append([reading(claim.piece, evidence) for claim in claims])
    flat = iter(encoder.doubts([pair for answer in pairs for pair in answer]))
    reads = []
    for row, claims in found:
        weights = model.weights(row.answer)
        linear = [
            (
                claim,
                weights.bias
                + sum(v * w for v, w in zip(claim.features, weights.claim, strict=True)),
            )
            for claim in claims
        ]
        reads.append(Read(row.group, row.supported, linear, [next(flat) for _ in claims]))
    return reads


def doubt(one: Read, weight: float) -> float:
    """The answer's total doubt with the encoder counted in before the checks."""
    return total_doubt(
        [
            settle(claim, linear + weight * said)[1]
            for (claim, linear), said in zip(one.words, one.encoder, strict=True)
        ]
    )


def report(reads: list[Read]) -> dict[str, Any]:
    """AUROCs of one data set."""
    positive = np.array([1.0 - one.supported for one in reads])
    groups = [one.group for one in reads]
    words = np.array([doubt(one, 0.0) for one in reads])
    alone = np.array([max(one.encoder) for one in reads])
    found: dict[str, Any] = {
        "rows": len(reads),
        "lexical": round(auroc(positive, words), 3),
        "encoder_alone": round(auroc(positive, alone), 3),
    }
    for weight in WEIGHTS:
        mixed = np.array([doubt(one, weight) for one in reads])
        found[f"with_{weight}"] = round(auroc(positive, mixed), 3)
        found[f"gain_{weight}"] = interval(
            groups,
            lambda i, m=mixed: auroc(positive[i], m[i]) - auroc(positive[i], words[i]),  # type: ignore[misc]
        )
    return found


def window(request: JudgeRequest, encoder: OnnxEncoder) -> list[tuple[str, str]]:
    """The claims of one trace that fit its window."""
    evidence = Evidence.build(request.contexts or (), request.question)
    claims = look_up_all(take_apart(request.answer).claims, evidence, request.answer)
    pairs = [reading(claim.piece, evidence) for claim in claims]
    left, chosen = WINDOW, []
    for pair, size in zip(pairs, encoder.sizes(pairs), strict=True):
        if size <= left:
            left -= size
            chosen.append(pair)
    return chosen


def speed(folder: Path, encoder: Path) -> dict[str, Any]:
    """Milliseconds of the encoder for one trace's window, one and two threads, and in batches."""
    found: dict[str, Any] = {"load_average": round(os.getloadavg()[0], 2), "window": WINDOW}
    traces = english(folder)[:TRACES]
    for threads in (1, 2):
        engine = load_encoder(encoder, threads)
        windows = [window(trace, engine) for trace in traces]
        engine.doubts(windows[0])
        spent, busy = [], []
        for pairs in windows:
            started, worked = time.perf_counter(), time.process_time()
            engine.doubts(pairs)
            spent.append(1000 * (time.perf_counter() - started))
            busy.append(1000 * (time.process_time() - worked))
        started, worked = time.perf_counter(), time.process_time()
        engine.doubts([pair for pairs in windows for pair in pairs])
        seconds, cpu = time.perf_counter() - started, time.process_time() - worked
        found[f"threads_{threads}"] = {
            "p50_ms": round(float(np.quantile(spent, 0.5)), 1),
            "p99_ms": round(float(np.quantile(spent, 0.99)), 1),
            "cpu_p50_ms": round(float(np.quantile(busy, 0.5)), 1),
            "batched_traces_per_second": round(len(windows) / seconds, 1),
            "batched_traces_per_cpu_second": round(len(windows) / cpu, 1),
        }
    return found


def main(folder: Path, encoder: Path) -> None:
    """Measure and print."""
    engine = load_encoder(encoder, 1)
    print(
        json.dumps(
            {
                "encoder": engine.version,
                "auroc": {name: report(read(rows, engine)) for name, rows in sets(folder)},
                "speed": speed(folder, encoder),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
