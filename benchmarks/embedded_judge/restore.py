"""The floats of an int8 encoder, as a base that `train_encoder` goes on from.

Usage: `python -m benchmarks.embedded_judge.restore ENCODER_FOLDER BASE_FOLDER`
Reads what `export_encoder` wrote and writes weights, shape and tokenizer for `train_encoder`:
what was lost by quantising stays lost, but that is less than a step of learning changes. Prints the
hash of the weights and how far what the floats say is from what the int8 encoder says. Needs torch,
transformers and onnx.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.torch import save_file
from transformers import BertConfig

from benchmarks.embedded_judge.quantise import away, dequantised, doubts_of, inputs_of, sample
from benchmarks.embedded_judge.train_encoder import base_model, tokenizer_of
from benchmarks.embedded_judge.training_pairs import SUPPORTED

Floats = NDArray[np.float32]
WORDS = "encoder.embeddings.word_embeddings.weight"
HEADS = 12
"""Attention heads of every base; the graph does not tell their number."""


def weights_in(model: onnx.ModelProto) -> dict[str, Floats]:
    """Every weight by the name it has in the model that was exported."""
    held = {v.name: numpy_helper.to_array(v) for v in dequantised(model).graph.initializer}
    small, scales = held.pop(f"{WORDS}_int8"), held.pop(f"{WORDS}_scales")
    found = {name: value for name, value in held.items() if name.endswith((".weight", ".bias"))}
    found[WORDS] = small.astype(np.float32) * scales
    found.update(dict(_matrices(model, held)))
    return found


def _matrices(model: onnx.ModelProto, held: dict[str, Floats]) -> Iterator[tuple[str, Floats]]:
    """Each matrix by the name of the bias that is added behind it; activations as they were."""
    maker = {name: node for node in model.graph.node for name in node.output}
    reader = {name: node for node in model.graph.node for name in node.input}
    for product in model.graph.node:
        if product.op_type != "MatMul" or product.input[1] not in held:
            continue
        [bias] = [name for name in reader[product.output[0]].input if name.endswith(".bias")]
        matrix = held[product.input[1]]
        for name in maker[product.input[0]].input:
            if name.endswith("_inverse"):  # the head, whose input is a mean, has no such factors
                matrix = matrix * held[name][:, None]
        yield bias.removesuffix("bias") + "weight", np.ascontiguousarray(matrix.T)


def config_of(weights: dict[str, Floats]) -> BertConfig:
    """The shape of a model by its weights."""
    words, width = weights[WORDS].shape
    layers = {name.split(".")[3] for name in weights if name.startswith("encoder.encoder.layer.")}
    return BertConfig(
        vocab_size=words,
        hidden_size=width,
        num_hidden_layers=len(layers),
        num_attention_heads=HEADS,
        intermediate_size=len(weights["encoder.encoder.layer.0.intermediate.dense.bias"]),
        max_position_embeddings=len(weights["encoder.embeddings.position_embeddings.weight"]),
        type_vocab_size=len(weights["encoder.embeddings.token_type_embeddings.weight"]),
        # A run sees hardly any pair twice, and without dropout a step takes a third less time.
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def main(folder: Path, base: Path, *, compare: bool = True) -> None:
    """Back to floats; compare what both say of written statements."""
    weights = weights_in(onnx.load(folder / "model.onnx"))
    base.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "tokenizer.json", base / "tokenizer.json")
    config_of(weights).save_pretrained(base)
    target = base / "model.safetensors"
    save_file({name: torch.tensor(weights[name]) for name in sorted(weights)}, target)
    print(json.dumps({"sha256": hashlib.sha256(target.read_bytes()).hexdigest()}), flush=True)
    if not compare:
        return
    model = base_model(base).eval()
    fed = inputs_of(tokenizer_of(base), sample())
    with torch.no_grad():
        logits = torch.cat([model(*map(torch.from_numpy, alone.values())) for alone in fed])
    exact = (logits[:, SUPPORTED + 1 :] - logits[:, [SUPPORTED]]).numpy()
    print(json.dumps({"away": away(doubts_of(folder, sample()), exact)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
