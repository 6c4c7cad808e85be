"""AUROC of int8 encoders alone on what no encoder learnt from.

Usage: `python -m benchmarks.embedded_judge.encoder_areas VALIDATION_FILE ENCODER_FOLDER...`
VALIDATION_FILE is of `validation`, folders of `export_encoder`. Prints a line of JSON for each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.embedded_judge.distil_encoder import areas
from benchmarks.embedded_judge.training_pairs import read_pairs
from rag_monitor.judges.embedded.encoder import load_encoder


def main(validation: Path, *folders: Path) -> None:
    """Measure each encoder."""
    pairs = read_pairs(validation)
    readings = [(pair.claim, pair.evidence) for pair in pairs]
    for folder in folders:
        encoder = load_encoder(folder, 2)
        odds = np.array(encoder.logits(readings), np.float32)
        logits = np.column_stack([np.zeros(len(odds), np.float32), odds])
        print(json.dumps({encoder.version: areas(pairs, logits)}), flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
