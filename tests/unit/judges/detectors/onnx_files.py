"""Detectors in ONNX whose numbers can be told beforehand: a row of classes per token."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tests.unit.judges.detectors.tiny_detectors import folder_of

Table = NDArray[np.float32]
NLI = {"architectures": ["BertForSequenceClassification"], "model_type": "deberta-v2",
       "id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"}}  # fmt: skip


def table(classes: int, seed: int = 3, size: int = 400) -> Table:
    """The classes that each token speaks for."""
    drawn = np.random.default_rng(seed).normal(size=(size, classes))
    return np.asarray(drawn, np.float32)


def write_model(file: Path, rows: Table, *, ends: str) -> None:
    """A model of `rows`.

    Args:
        file: Where it goes.
        rows: The classes that each token speaks for.
        ends: `sum` gives the classes of all tokens that the mask leaves, added up; `tokens` those
            of each token; `first_step` the vocabulary after one step of a decoder.
    """
    inputs = ["input_ids", "attention_mask"] + (["decoder_input_ids"] * (ends == "first_step"))
    nodes = [helper.make_node("Gather", ["rows", "input_ids"], ["given"])]
    if ends == "tokens":
        nodes.append(helper.make_node("Identity", ["given"], ["logits"]))
    else:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["seen", "last"], ["mask"]),
            helper.make_node("Mul", ["given", "mask"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "places"], ["added"], keepdims=0),
        ]
        if ends == "sum":
            nodes.append(helper.make_node("Identity", ["added"], ["logits"]))
        else:
            nodes.append(helper.make_node("Unsqueeze", ["added", "places"], ["logits"]))
    shape = {"sum": ["b", "c"], "tokens": ["b", "s", "c"], "first_step": ["b", "d", "c"]}[ends]
    graph = helper.make_graph(
        nodes,
        "detector",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", name]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)],
        [
            numpy_helper.from_array(rows, "rows"),
            numpy_helper.from_array(np.array([2]), "last"),
            numpy_helper.from_array(np.array([1]), "places"),
        ],
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, str(file))


def nli_folder(path: Path, rows: Table | None = None) -> Path:
    """A folder with an NLI model of three classes."""
    folder = folder_of(path, "bert", NLI)
    write_model(folder / "model.onnx", table(3) / 9 if rows is None else rows, ends="sum")
    return folder
