"""Int8 encoders: how they are made from full ones, and made anew from int8 ones.

Usage: `python -m benchmarks.embedded_judge.quantise ENCODER_FOLDER OUT_FOLDER`
Takes the int8 encoder in a folder back to floats, makes its activations even (`smoothing`) and
quantises it again: for an encoder whose full weights nobody kept. Weights of matrix products become
seven-bit integers, a scale for each column, and what they are multiplied with is quantised as the
model runs (dynamic quantisation); eight bits would overflow on processors without VNNI. Word
embeddings become eight-bit integers with a scale for each word. Prints how far what the old and the
new encoder say of written statements is from what the floats say, in log-odds. Needs onnx.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

from benchmarks.embedded_judge.smoothing import smoothed
from benchmarks.embedded_judge.written import statements
from rag_monitor.judges.embedded.encoder import STATES, load_encoder

SAMPLE: Final = 512
"""Written statements that show how large each feature becomes."""

LAYER: Final = 5
"""Counted from 0, the layer whose states probes are learnt on."""

Inputs = Mapping[str, NDArray[np.int64]]


def sample() -> list[tuple[str, str]]:
    """Statements with their premises, of all files, none of them held out."""
    seen = [(said.text, said.premise) for said in statements() if not said.held_out]
    return seen[:: len(seen) // SAMPLE][:SAMPLE]


def inputs_of(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> list[Inputs]:
    """What an encoder is given for each pair, alone."""
    found = []
    for pair in pairs:
        read = tokenizer.encode(*pair)
        found.append(
            {
                "input_ids": np.array([read.ids], np.int64),
                "attention_mask": np.ones((1, len(read.ids)), np.int64),
                "token_type_ids": np.array([read.type_ids], np.int64),
            }
        )
    return found


def quantised(model: onnx.ModelProto, fed: Sequence[Inputs]) -> onnx.ModelProto:
    """The model with even activations and int8 matrix products.

    Args:
        model: Of floats; it is changed.
        fed: Inputs like those it will see.
    """
    with tempfile.TemporaryDirectory() as folder:
        even, small = Path(folder) / "even.onnx", Path(folder) / "small.onnx"
        onnx.save(smoothed(model, fed), even)
        quantize_dynamic(
            even,
            small,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul"],
        )
        return onnx.load(small)


def dequantised(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of `quantised` with products of floats again; it is changed.

    Of every product `x` is quantised, multiplied by an integer matrix, cast, and multiplied by both
    scales; one product of floats takes the place of all that.
    """
    graph = model.graph
    held = {value.name: value for value in graph.initializer}
    maker = {name: node for node in graph.node for name in node.output}
    reader = {name: node for node in graph.node for name in node.input}
    gone: dict[str, onnx.NodeProto] = {}
    for product in [node for node in graph.node if node.op_type == "MatMulInteger"]:
        quantiser = maker[product.input[0]]
        cast = reader[product.output[0]]
        scaled = reader[cast.output[0]]
        [scales] = [name for name in scaled.input if name != cast.output[0]]
        matrix, zero = product.input[1], product.input[3]
        scale = matrix.removesuffix("_quantized") + "_scale"
        whole, shift, step = (numpy_helper.to_array(held[n]) for n in (matrix, zero, scale))
        floats = (whole.astype(np.float32) - shift.astype(np.float32)) * step
        graph.initializer.append(numpy_helper.from_array(floats, f"{matrix}_floats"))
        plain = helper.make_node(
            "MatMul", [quantiser.input[0], f"{matrix}_floats"], [scaled.output[0]]
        )
        graph.node.insert(list(graph.node).index(product), plain)
        graph.node.remove(product)
        for name in (matrix, zero, scale):
            graph.initializer.remove(held[name])
        for node in (quantiser, cast, scaled, maker[scales]):
            gone[node.output[0]] = node
    for node in gone.values():
        graph.node.remove(node)
    onnx.checker.check_model(model)
    return model


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


def with_states(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with the states of a middle layer as a second output; it is changed."""
    graph = model.graph
    if any(value.name == STATES for value in graph.output):
        return model
    [found] = [
        node.output[0]
        for node in graph.node
        if node.op_type == "LayerNormalization" and f"layer.{LAYER}/output/" in node.output[0]
    ]
    graph.node.append(helper.make_node("Identity", [found], [STATES]))
    shape = ["rows", "tokens", "width"]
    graph.output.append(helper.make_tensor_value_info(STATES, TensorProto.FLOAT, shape))
    onnx.checker.check_model(model)
    return model


def doubts_of(folder: Path, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Contradiction and missing support, as the encoder in a folder sees each pair, read alone."""
    encoder = load_encoder(folder, 1)
    return np.array([encoder.logits([pair])[0] for pair in pairs])


def away(said: NDArray[np.float64], exact: NDArray[np.float64]) -> dict[str, float]:
    """The mean and the largest distance."""
    apart = np.abs(said - exact)
    return {"mean": round(float(apart.mean()), 4), "largest": round(float(apart.max()), 4)}


def main(folder: Path, out: Path) -> None:
    """Back to floats, quantise, compare."""
    full = out / "floats"
    full.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "encoder.json"):
        for target in (out, full):
            shutil.copy(folder / name, target / name)
    described = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(described["longest"], strategy="longest_first")
    onnx.save(dequantised(onnx.load(folder / "model.onnx")), full / "model.onnx")
    fed = inputs_of(tokenizer, sample())
    small = quantised(onnx.load(full / "model.onnx"), fed)
    onnx.save(with_states(small), out / "model.onnx")
    exact = doubts_of(full, sample())
    report = {
        "version": load_encoder(out, 1).version,
        "megabytes": round((out / "model.onnx").stat().st_size / 1e6, 1),
        "before": away(doubts_of(folder, sample()), exact),
        "after": away(doubts_of(out, sample()), exact),
    }
    shutil.rmtree(full)
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
