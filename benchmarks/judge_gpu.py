"""How fast the packed judge is: traces/s, tokens/s, share of the device's rate, latency, memory.

    python -m benchmarks.judge_gpu --size 7b
    python -m benchmarks.judge_gpu --size tiny            # on a CPU, in seconds

Weights are random in the shapes of real models: speed does not depend on their values, quality is
not measured here. Beside the packed pass runs the naive way, one call per verdict, on the same
model and traces. The device's rate is measured by a large matrix product in the same number format.
Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from rag_monitor.judges.packed.engine import PackedEngine, Tree, share

PREFIX, BRANCH, BRANCHES = 1_300, 25, 11
"""The worked trace: a shared prefix and eleven verdicts, about 1,580 tokens."""

_QWEN, _LLAMA = (Qwen2Config, Qwen2ForCausalLM), (LlamaConfig, LlamaForCausalLM)
SIZES: dict[str, tuple[Any, dict[str, Any]]] = {
    "tiny": (_QWEN, {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                     "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1_000}),
    "0.5b": (_QWEN, {"hidden_size": 896, "intermediate_size": 4_864, "num_hidden_layers": 24,
                     "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151_936,
                     "tie_word_embeddings": True}),
    "1.5b": (_QWEN, {"hidden_size": 1_536, "intermediate_size": 8_960, "num_hidden_layers": 28,
                     "num_attention_heads": 12, "num_key_value_heads": 2, "vocab_size": 151_936,
                     "tie_word_embeddings": True}),
    "7b": (_QWEN, {"hidden_size": 3_584, "intermediate_size": 18_944, "num_hidden_layers": 28,
                   "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152_064}),
    "8b": (_LLAMA, {"hidden_size": 4_096, "intermediate_size": 14_336, "num_hidden_layers": 32,
                    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128_256}),
}  # fmt: skip


def build(size: str, device: str, dtype: torch.dtype) -> Any:
    """A model of that shape with random weights, made on the device."""
    (config_class, model_class), shape = SIZES[size]
    config = config_class(max_position_embeddings=8_192, attn_implementation="sdpa", **shape)
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            return model_class(config).eval()
    finally:
        torch.set_default_dtype(before)


def traces(count: int, vocabulary: int, prefix: int) -> list[Tree]:
    """Random traces around the worked size, lengths spread by a tenth."""
    draw = random.Random(1)

    def ids(length: int) -> tuple[int, ...]:
        return tuple(draw.randrange(vocabulary) for _ in range(length))

    return [
        Tree(
            ids(int(prefix * draw.uniform(0.9, 1.1))),
            tuple(ids(draw.randint(BRANCH - 8, BRANCH + 8)) for _ in range(BRANCHES)),
        )
        for _ in range(count)
    ]


def flops(model: Any, tree: Tree) -> float:
    """2 P n for the weights, attention over what each token sees, and the head on the verdicts."""
    config = model.config
    embeddings = model.get_input_embeddings().weight.numel()
    tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    weights = sum(p.numel() for p in model.parameters()) - embeddings * (1 if tied else 2)
    shared = len(tree.prefix)
    seen = shared * (shared + 1) / 2
    seen += sum(len(b) * shared + len(b) * (len(b) + 1) / 2 for b in tree.branches)
    attention = 4 * config.num_hidden_layers * config.hidden_size * seen
    head = 2 * config.hidden_size * config.vocab_size * len(tree.branches)
    return 2.0 * weights * tree.tokens + attention + head


def device_rate(device: str, dtype: torch.dtype) -> float:
    """FLOP/s of a large matrix product, best of five."""
    side = 8_192 if device.startswith("cuda") else 512
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    best = min(timed(lambda: left @ right, device) for _ in range(6))
    return 2.0 * side**3 / best


def timed(work: Callable[[], Any], device: str) -> float:
    """Seconds of `work`, the device's queue included."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - began


def naive(engine: PackedEngine, trees: list[Tree]) -> list[list[tuple[float, float]]]:
    """One call per verdict."""
    return [engine.separate(tree) for tree in trees]


def main() -> None:
    """Build, warm up, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--traces", type=int)
    parser.add_argument("--batch-tokens", type=int, default=32_768)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    device, on_gpu = options.device, options.device.startswith("cuda")
    dtype = torch.bfloat16 if on_gpu else torch.float32
    model = build(options.size, device, dtype)
    vocabulary = model.config.vocab_size
    prefix = PREFIX if options.size != "tiny" else PREFIX // 4
    trees = traces(options.traces or (200 if on_gpu else 6), vocabulary, prefix)
    work = sum(flops(model, tree) for tree in trees)
    runner = torch.compile(model, dynamic=True) if options.compile else model
    yes, no = [100, 101], [200, 201]
    engine = PackedEngine(runner, yes, no, batch_tokens=options.batch_tokens)
    engine.masses(trees[: min(16, len(trees))])
    seconds = timed(lambda: engine.masses(trees), device)
    single = [timed(lambda tree=tree: engine.masses([tree]), device) for tree in trees[:20]]  # type: ignore[misc]
    some = trees[: 20 if on_gpu else 3]
    naive_seconds = timed(lambda: naive(engine, some), device) / len(some)
    packed_verdicts, naive_verdicts = engine.masses(some), naive(engine, some)
    difference = max(
        abs(share(*one) - share(*other))
        for row, other_row in zip(packed_verdicts, naive_verdicts, strict=True)
        for one, other in zip(row, other_row, strict=True)
    )
    rate = device_rate(device, dtype)
    tokens = sum(tree.tokens for tree in trees)
    report = {
        "size": options.size,
        "weights": "random",
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "dtype": str(dtype),
        "torch": torch.__version__,
        "traces": len(trees),
        "tokens_per_trace": round(tokens / len(trees), 1),
        "traces_per_s": round(len(trees) / seconds, 2),
        "tokens_per_s": round(tokens / seconds),
        "measured_rate_tflops": round(rate / 1e12, 2),
        "share_of_measured_rate": round(work / seconds / rate, 3),
        "single_trace_p50_ms": round(1e3 * statistics.median(single), 2),
        "naive_traces_per_s": round(1 / naive_seconds, 2),
        "times_naive": round(naive_seconds / (seconds / len(trees)), 2),
        "largest_difference_to_naive": difference,
        "peak_memory_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2) if on_gpu else None,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
