"""Make a model's activations even before they are quantised with one scale for a whole tensor.

A few of an encoder's features are many times larger than the others; a scale that holds them leaves
few steps for the rest. Each product `x W` becomes `(x / s) (s W)`, the same number, with
`s = max|x|^a / max|W|^(1-a)` for each feature (SmoothQuant, Xiao et al., 2023): part of the
unevenness moves into the weights, whose columns have scales of their own. The division is a product
of its own in the graph, for here what is multiplied is also added further on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

SHARE: Final = 0.75
"""`a`: how much of the unevenness the weights take over; 0 would leave the weights even."""

Floats = NDArray[np.float32]


def smoothed(
    model: onnx.ModelProto, fed: Sequence[Mapping[str, NDArray[np.int64]]], share: float = SHARE
) -> onnx.ModelProto:
    """The same model with even factors in every product by a constant matrix.

    Args:
        model: Its constant matrices are initialisers; it is changed.
        fed: Inputs like those the model will see; they tell how large each feature becomes.
        share: See `SHARE`.
    """
    held = {value.name: value for value in model.graph.initializer}
    takers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in held:
            takers[node.input[0]].append(node)
    largest = _largest(model, list(takers), fed)
    for name, nodes in takers.items():
        matrices = [numpy_helper.to_array(held[node.input[1]]) for node in nodes]
        weights = np.max([np.abs(matrix).max(axis=1) for matrix in matrices], axis=0)
        factors = _factors(largest[name], weights, share)
        for node, matrix in zip(nodes, matrices, strict=True):
            held[node.input[1]].CopyFrom(
                numpy_helper.from_array(matrix * factors[:, None], node.input[1])
            )
        _divide(model, name, nodes, factors)
    onnx.checker.check_model(model)
    return model


def _largest(
    model: onnx.ModelProto, names: Sequence[str], fed: Sequence[Mapping[str, NDArray[np.int64]]]
) -> dict[str, Floats]:
    """Of each named value the largest absolute number of every feature."""
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names
    )
    session = onnxruntime.InferenceSession(watched.SerializeToString())
    found: dict[str, Floats] = {}
    for inputs in fed:
        for name, value in zip(names, session.run(list(names), dict(inputs)), strict=True):
            here = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            found[name] = np.maximum(found.get(name, here), here)
    return found


def _factors(values: Floats, weights: Floats, share: float) -> Floats:
    """What each feature is divided by; features that are always nothing stay as they are."""
    factors = np.power(values, share) / np.power(np.maximum(weights, 1e-6), 1 - share)
    return np.where(values > 0, np.maximum(factors, 1e-5), 1).astype(np.float32)


def _divide(
    model: onnx.ModelProto, name: str, nodes: Sequence[onnx.NodeProto], factors: Floats
) -> None:
    """Let the nodes read the value divided by the factors."""
    even, inverse = f"{name}_even", f"{name}_inverse"
    model.graph.initializer.append(numpy_helper.from_array(1 / factors, inverse))
    everything = list(model.graph.node)
    made = helper.make_node("Mul", [name, inverse], [even])
    model.graph.node.insert(min(map(everything.index, nodes)), made)
    for node in nodes:
        node.input[0] = even
