"""Encoders small enough to make at test time: a word's doubt is looked up and averaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = {"[UNK]": 0.0, "[CLS]": 0.0, "[SEP]": 0.0, "red": -6.0, "blue": 24.0, "ferry": 1.0}


def tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return made


def write(folder: Path, table: np.ndarray, mean: bool, spec: dict[str, Any]) -> Path:
    """An encoder folder: rows of `table` looked up by token, averaged over the row if `mean`."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["b", "s"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["b", "s"])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows"])]
    shape: list[str | int] = ["b", "s", table.shape[1]]
    if mean:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["m", "last"], ["weights"]),
            helper.make_node("Mul", ["rows", "weights"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "second"], ["out"], keepdims=0),
        ]
        shape = ["b", table.shape[1]]
    output = helper.make_tensor_value_info("out" if mean else "rows", TensorProto.FLOAT, shape)
    graph = helper.make_graph(
        nodes, "tiny", [ids, mask], [output],
        [
            numpy_helper.from_array(table.astype(np.float32), "table"),
            numpy_helper.from_array(np.array([-1]), "last"),
            numpy_helper.from_array(np.array([1]), "second"),
        ],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "encoder.json").write_text(json.dumps({"format": 1, **spec}), encoding="utf-8")
    return folder


def pairs(folder: Path) -> Path:
    """A cross encoder: the doubts of all words of claim and evidence, added up."""
    return write(folder, np.array([[d] for d in WORDS.values()]), True, {"reads": "pairs"})


def classes(folder: Path) -> Path:
    """The same with three classes, as NLI models have them; the first means supported."""
    table = np.array([[-d, 0.0, d] for d in WORDS.values()])
    return write(folder, table, True, {"reads": "pairs", "entailment": 0})


def texts(folder: Path, pooling: str = "mean") -> Path:
    """An embedding model: one direction a word."""
    spec = {"reads": "texts", "pooling": pooling, "centre": 0.5, "scale": 4.0}
    return write(folder, np.eye(len(WORDS)) + 0.01, False, spec)
