"""Write an encoder folder of the embedded judge: int8 ONNX, tokenizer, description.

Usage: `python -m benchmarks.embedded_judge.export_encoder BASE_FOLDER OUT_FOLDER [CHECKPOINT]`
With CHECKPOINT (`model.safetensors` of `train_encoder`) a cross encoder, without it the base model
as it is, as an embedding model. Weights of matrix products become seven-bit integers, a scale for
each column, and what they are multiplied with is quantised as the model runs (dynamic
quantisation); eight bits would overflow on processors without VNNI. Word embeddings become
eight-bit integers with a scale for each word. Prints the size and the largest difference to the
full model. Needs torch, transformers and onnx; the judge itself needs none of them.
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
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.torch import load_file

from benchmarks.embedded_judge.train_encoder import (
    LONGEST,
    Vectors,
    base_model,
    encode,
    tokenizer_of,
)
from rag_monitor.judges.embedded.encoder import load_encoder

NAMES = ("input_ids", "attention_mask", "token_type_ids")
SAMPLE = [
    ("The ferry sails at noon.", "The ferry leaves the harbour at noon. It is red."),
    ("Refunds are not allowed.", "Refunds are allowed within two weeks of the purchase."),
]


def with_small_words(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with word embeddings in eight bits, a scale for each word.

    The table is the largest one a Gather reads; each Gather of it becomes two, times each other.
    """
    graph = model.graph
    held = {value.name: value for value in graph.initializer}
    read = [node for node in graph.node if node.op_type == "Gather" and node.input[0] in held]
    name = max((node.input[0] for node in read), key=lambda table: np.prod(held[table].dims))
    words = numpy_helper.to_array(held[name])
    scales = np.maximum(np.abs(words).max(axis=1, keepdims=True) / 127, 1e-12).astype(np.float32)
    small = np.round(words / scales).astype(np.int8)
    graph.initializer.remove(held[name])
    graph.initializer.extend(
        [
            numpy_helper.from_array(small, f"{name}_int8"),
            numpy_helper.from_array(scales, f"{name}_scales"),
        ]
    )
    for node in [node for node in read if node.input[0] == name]:
        place, ids, found = list(graph.node).index(node), node.input[1], node.output[0]
        graph.node.remove(node)
        small_row, row, scale = (f"{found}_{part}" for part in ("int8", "float", "scales"))
        made = (
            helper.make_node("Gather", [f"{name}_int8", ids], [small_row]),
            helper.make_node("Cast", [small_row], [row], to=TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}_scales", ids], [scale]),
            helper.make_node("Mul", [row, scale], [found]),
        )
        for offset, instead in enumerate(made):
            graph.node.insert(place + offset, instead)
    onnx.checker.check_model(model)
    return model


def main(base: Path, out: Path, checkpoint: Path | None) -> None:
    """Export, quantise, compare."""
    model = base_model(base)
    if checkpoint is not None:
        model.load_state_dict(load_file(checkpoint))
    module: torch.nn.Module = model if checkpoint is not None else Vectors(model.encoder)
    module.eval()
    tokenizer = tokenizer_of(base)
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
        small = Path(folder) / "small.onnx"
        quantize_dynamic(
            full,
            small,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul"],
        )
        onnx.save(with_small_words(onnx.load(small)), out / "model.onnx")
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
