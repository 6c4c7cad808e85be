"""Even activations: the same function before quantising, and a smaller loss by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from benchmarks.embedded_judge.quantise import LAYER, dequantised, quantised, with_states
from benchmarks.embedded_judge.smoothing import smoothed
from rag_monitor.judges.embedded.encoder import STATES

WIDTH = 16
LARGE = 5
"""The feature that is much larger than the others."""


def two_readers() -> onnx.ModelProto:
    """One value that two products and a sum read, as in an encoder's layer."""
    draw = np.random.default_rng(3)
    matrices = [draw.normal(size=(WIDTH, WIDTH)).astype(np.float32) for _ in range(2)]
    spread = np.ones(WIDTH, np.float32)
    spread[LARGE] = 100.0
    shape = ["rows", WIDTH]
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["input_ids"], ["plain"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["plain", "spread"], ["value"]),
            helper.make_node("MatMul", ["value", "first"], ["one"]),
            helper.make_node("MatMul", ["value", "second"], ["two"]),
            helper.make_node("Sum", ["one", "two", "value"], ["out"]),
        ],
        "layer",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)],
        [
            numpy_helper.from_array(spread, "spread"),
            numpy_helper.from_array(matrices[0], "first"),
            numpy_helper.from_array(matrices[1], "second"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def fed(seed: int) -> dict[str, NDArray[np.int64]]:
    return {"input_ids": np.random.default_rng(seed).integers(-9, 9, (40, WIDTH))}


def run(model: bytes, inputs: dict[str, NDArray[np.int64]]) -> NDArray[np.float32]:
    [found] = onnxruntime.InferenceSession(model).run(["out"], inputs)
    return np.asarray(found, np.float32)


def plainly_quantised(model: onnx.ModelProto, folder: Path) -> bytes:
    onnx.save(model, folder / "full.onnx")
    quantize_dynamic(
        folder / "full.onnx",
        folder / "small.onnx",
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
    )
    return (folder / "small.onnx").read_bytes()


def test_evening_out_changes_no_result() -> None:
    even = smoothed(two_readers(), [fed(1), fed(2)])

    np.testing.assert_allclose(
        run(even.SerializeToString(), fed(7)),
        run(two_readers().SerializeToString(), fed(7)),
        rtol=1e-4,
        atol=1e-2,
    )


def test_a_model_with_one_large_feature_loses_less_by_quantising(tmp_path: Path) -> None:
    exact = run(two_readers().SerializeToString(), fed(7))
    plain = run(plainly_quantised(two_readers(), tmp_path), fed(7))
    even = run(quantised(two_readers(), [fed(1)]).SerializeToString(), fed(7))

    assert np.abs(even - exact).mean() < np.abs(plain - exact).mean() / 2


def test_a_feature_that_is_always_nothing_stays() -> None:
    nothing = fed(1)["input_ids"].copy()
    nothing[:, LARGE] = 0
    even = smoothed(two_readers(), [{"input_ids": nothing}])

    assert np.isfinite(run(even.SerializeToString(), fed(7))).all()


def test_an_int8_model_becomes_one_of_floats_again() -> None:
    small = quantised(two_readers(), [fed(1)])
    floats = dequantised(onnx.ModelProto.FromString(small.SerializeToString()))

    kinds = {node.op_type for node in floats.graph.node}
    assert "MatMul" in kinds
    assert not kinds & {"MatMulInteger", "DynamicQuantizeLinear"}
    exact = run(two_readers().SerializeToString(), fed(7))
    away = [np.abs(run(m.SerializeToString(), fed(7)) - exact).mean() for m in (floats, small)]
    assert away[0] < away[1]
    assert away[0] < np.abs(exact).mean() / 50


def test_the_states_of_a_middle_layer_are_a_second_output_and_the_first_stays() -> None:
    normed = f"/encoder/layer.{LAYER}/output/LayerNorm"
    shape = ["rows", "tokens", WIDTH]
    graph = helper.make_graph(
        [
            helper.make_node("LayerNormalization", ["read", "scale"], [normed]),
            helper.make_node("Neg", [normed], ["out"]),
        ],
        "layers",
        [helper.make_tensor_value_info("read", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.ones(WIDTH, np.float32), "scale")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    exposed = with_states(with_states(model))

    session = onnxruntime.InferenceSession(exposed.SerializeToString())
    read = np.random.default_rng(1).normal(size=(1, 3, WIDTH)).astype(np.float32)
    out, states = session.run(["out", STATES], {"read": read})
    assert [value.name for value in session.get_outputs()] == ["out", STATES]
    np.testing.assert_array_equal(out, -states)
