"""Write an encoder folder of the embedded judge: int8 ONNX, tokenizer, description.

Usage: `python -m benchmarks.embedded_judge.export_encoder BASE_FOLDER OUT_FOLDER [CHECKPOINT]`
With CHECKPOINT (`model.safetensors` of `train_encoder`) a cross encoder, without it the base model
as it is, as an embedding model; made small as `quantise` says. Prints the size and how far the
encoder's log-odds are from the full model's. Needs torch, transformers and onnx; the judge itself
needs none of them.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
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
)
from benchmarks.embedded_judge.train_encoder import (
    LONGEST,
    Vectors,
    base_model,
    tokenizer_of,
)
from rag_monitor.judges.embedded.encoder import load_encoder

NAMES = ("input_ids", "attention_mask", "token_type_ids")


def main(base: Path, out: Path, checkpoint: Path | None) -> None:
    """Export, quantise, compare."""
    model = base_model(base)
    if checkpoint is not None:
        model.load_state_dict(load_file(checkpoint))
    module: torch.nn.Module = model if checkpoint is not None else Vectors(model.encoder)
    module.eval()
    tokenizer = tokenizer_of(base)
    fed = inputs_of(tokenizer, sample())
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.onnx"
        torch.onnx.export(
            module,
            tuple(torch.from_numpy(fed[0][name]).repeat(2, 1) for name in NAMES),
            full,
            input_names=list(NAMES),
            output_names=["out"],
            dynamic_axes={name: {0: "rows", 1: "tokens"} for name in NAMES},
            opset_version=17,
            dynamo=False,
        )
        small = quantised(onnx.load(full), fed)
        onnx.save(with_small_words(small), out / "model.onnx")
    shutil.copy(base / "tokenizer.json", out / "tokenizer.json")
    described: dict[str, object] = {"format": 1, "reads": "pairs", "longest": LONGEST}
    if checkpoint is None:
        described = {"format": 1, "reads": "texts", "longest": 256, "pooling": "mean"}
    (out / "encoder.json").write_text(json.dumps(described) + "\n", encoding="utf-8")
    encoder = load_encoder(out, 1)
    report: dict[str, object] = {
        "version": encoder.version,
        "megabytes": round((out / "model.onnx").stat().st_size / 1e6, 1),
    }
    if checkpoint is not None:
        with torch.no_grad():
            exact = [
                module(*(torch.from_numpy(alone[name]) for name in NAMES)).item() for alone in fed
            ]
        report["away"] = away(doubts_of(out, sample()), np.array(exact))
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
