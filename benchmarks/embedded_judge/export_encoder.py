"""Write an encoder folder of the embedded judge: int8 ONNX, tokenizer, description.

Usage: `python -m benchmarks.embedded_judge.export_encoder BASE_FOLDER OUT_FOLDER [CHECKPOINT]`
With CHECKPOINT (`model.safetensors` of `train_encoder`) a cross encoder, without it the base model
as it is, as an embedding model. Weights of matrix products are quantised to int8 as the model runs
(dynamic quantisation). Prints the size and the largest difference to the full model. Needs torch,
transformers and onnx; the judge itself needs none of them.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.torch import load_file
from transformers import AutoTokenizer

from benchmarks.embedded_judge.train_encoder import (
    LONGEST,
    Vectors,
    base_model,
    encode,
)
from rag_monitor.judges.embedded.encoder import load_encoder

NAMES = ("input_ids", "attention_mask", "token_type_ids")
SAMPLE = [
    ("The ferry sails at noon.", "The ferry leaves the harbour at noon. It is red."),
    ("Refunds are not allowed.", "Refunds are allowed within two weeks of the purchase."),
]


def main(base: Path, out: Path, checkpoint: Path | None) -> None:
    """Export, quantise, compare."""
    model = base_model(base)
    if checkpoint is not None:
        model.load_state_dict(load_file(checkpoint))
    module: torch.nn.Module = model if checkpoint is not None else Vectors(model.encoder)
    module.eval()
    tokenizer = AutoTokenizer.from_pretrained(base)
    fed = encode(tokenizer, SAMPLE)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.onnx"
        torch.onnx.export(
            module,
            tuple(fed[name] for name in NAMES),
            full,
            input_names=list(NAMES),
            output_names=["out"],
            dynamic_axes={name: {0: "rows", 1: "tokens"} for name in NAMES},
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(full, out / "model.onnx", weight_type=QuantType.QInt8)
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
            exact = module(**fed).numpy()
        report["largest_difference"] = round(
            float(np.abs(np.array(encoder.doubts(SAMPLE)) - exact).max()), 4
        )
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
