"""What an embedding encoder adds to lexical context relevance. Prints one JSON object.

Usage: `python -m benchmarks.embedded_judge.encoder_relevance DATA_FOLDER ENCODER_FOLDER [MOST]`
About MOST questions of each English set, evenly drawn (150 if left out), and their labelled
passages: AUROC of the lexical probability, of the cosine of question and passage, and of both (`w`
times the cosine's distance from its mean, in standard deviations, added to the lexical log-odds),
with the 95 % interval (bootstrap over questions) of the gain over lexical evidence alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.embedded_judge.corpora import load
from benchmarks.embedded_judge.evaluate import RELEVANCE, auroc, interval
from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.judges.embedded import EmbeddedJudge, create_lexical
from rag_monitor.judges.embedded.encoder import OnnxEncoder, load_encoder

SETS = (("clapnq", "clapnq_dev"), ("clapnq_sent", "clapnq_dev"), ("rgb_en_fact", "rgb_en"))
WEIGHTS = (0.25, 0.5, 1.0, 2.0)


def report(
    rows: list[dict[str, Any]], judge: EmbeddedJudge, encoder: OnnxEncoder
) -> dict[str, Any]:
    """The figures of one data set."""
    labels: list[float] = []
    lexical: list[float] = []
    cosine: list[float] = []
    groups: list[str] = []
    busy = 0.0
    for number, row in enumerate(rows):
        question, contexts = row["question"] or row["answer"], tuple(row["contexts"])
        request = JudgeRequest(question=question, answer="", contexts=contexts, aspects=RELEVANCE)
        lexical += [v.probability for v in judge.judge_one(request).verdicts]
        started = time.process_time()
        cosine += [
            -missing for _, missing in encoder.logits([(question, text) for text in contexts])
        ]
        busy += time.process_time() - started
        labels += map(float, row["context_labels"])
        groups += [str(number)] * len(contexts)
    positive, held = np.array(labels), np.clip(np.array(lexical), 1e-6, 1 - 1e-6)
    odds, said = np.log(held / (1 - held)), np.array(cosine)
    said = (said - said.mean()) / said.std()
    found: dict[str, Any] = {
        "questions": len(rows),
        "passages": len(labels),
        "lexical": round(auroc(positive, odds), 3),
        "encoder_alone": round(auroc(positive, said), 3),
        "cpu_ms_a_passage": round(1000 * busy / len(labels), 1),
    }
    for weight in WEIGHTS:
        mixed = odds + weight * said
        found[f"with_{weight}"] = round(auroc(positive, mixed), 3)
        found[f"gain_{weight}"] = interval(
            groups,
            lambda i, m=mixed: auroc(positive[i], m[i]) - auroc(positive[i], odds[i]),  # type: ignore[misc]
        )
    return found


def main(folder: Path, encoder: Path, most: int) -> None:
    """Measure and print."""
    judge, engine = create_lexical({}), load_encoder(encoder, 1)
    found: dict[str, Any] = {"encoder_of_relevance": engine.version}
    for dataset, file in SETS:
        rows = [row for row in load(folder, file) if row["dataset"] == dataset]
        rows = rows[:: max(1, len(rows) // most)]
        found[dataset] = report(rows, judge, engine)
    found["load_average"] = round(os.getloadavg()[0], 1)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 150)
