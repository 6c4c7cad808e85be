"""Write an encoder folder of the embedded judge: int8 ONNX, tokenizer, description.

Usage: `python -m benchmarks.embedded_judge.export_encoder BASE_FOLDER OUT_FOLDER CHECKPOINT`
CHECKPOINT is a `model-STEP.safetensors` of `train_encoder`; it is made small as `quantise` says.
Prints the size and how far the encoder's log-odds are from the full model's. Needs torch,
transformers and onnx; the judge itself needs none of them.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import onnx
import torch
from safetensors.torch import load_file

from benchmarks.embedded_judge.quantise import (
    away,
    doubts_of,
    inputs_of,
    quantised,
    sample,
    with_small_words,
    with_states,
)
from benchmarks.embedded_judge.train_encoder import LONGEST, base_model, tokenizer_of
from benchmarks.embedded_judge.training_pairs import CONTRADICTED, SUPPORTED
from rag_monitor.judges.embedded.encoder import LIMIT, load_encoder

NAMES: Final = ("input_ids", "attention_mask", "token_type_ids")
COMPARED: Final = 8
"""One statement in so many of the sample is also read by the full model, to compare."""


def main(base: Path, out: Path, checkpoint: Path) -> None:
    """Export, quantise, compare."""
    # The other implementation guards rows that attend to nothing, which takes a sixth of the time.
    model = base_model(base, "eager")
    model.load_state_dict(load_file(checkpoint))
    model.eval()
    tokenizer = tokenizer_of(base)
    fed = inputs_of(tokenizer, sample())
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.onnx"
        torch.onnx.export(
            model,
            tuple(torch.from_numpy(fed[0][name]).repeat(2, 1) for name in NAMES),
            full,
            input_names=list(NAMES),
            output_names=["out"],
            dynamic_axes={name: {0: "rows", 1: "tokens"} for name in NAMES},
            opset_version=17,
            dynamo=False,
        )
        small = quantised(onnx.load(full), fed)
        onnx.save(with_states(with_small_words(small)), out / "model.onnx")
    shutil.copy(base / "tokenizer.json", out / "tokenizer.json")
    described = {
        "format": 1, "reads": "pairs", "longest": LONGEST, "entailment": SUPPORTED,
        "contradiction": CONTRADICTED,
    }  # fmt: skip
    (out / "encoder.json").write_text(json.dumps(described) + "\n", encoding="utf-8")
    compared = sample()[::COMPARED]
    with torch.no_grad():
        logits = torch.cat(
            [
                model(*(torch.from_numpy(one[name]) for name in NAMES))
                for one in inputs_of(tokenizer, compared)
            ]
        )
    exact = (logits[:, SUPPORTED + 1 :] - logits[:, [SUPPORTED]]).numpy()
    report = {
        "version": load_encoder(out, 1).version,
        "megabytes": round((out / "model.onnx").stat().st_size / 1e6, 1),
        "away": away(doubts_of(out, compared), exact.clip(-LIMIT, LIMIT)),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
