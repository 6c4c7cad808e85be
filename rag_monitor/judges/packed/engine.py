"""A transformers model that answers all branches of many trees in one forward pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.batching import DeviceBatches
from rag_monitor.judges.packed.tree import Tree, pack

SELF_TEST_LIMIT: Final = {torch.float32: 1e-3, torch.bfloat16: 3e-2, torch.float16: 1e-2}
"""Largest difference in probability between packed and separate that is accepted at load."""
_PROBE_IDS: Final = ((24, 3, 9), (40, 5, 2), (17, 7, 6))
"""Self-test: prefix length, branches, length of the longest branch."""


class PackedEngine:
    """Owns a model on one device. Not thread-safe; the judge gives it one thread.

    Args:
        model: A causal language model with full attention, in evaluation mode.
        yes: Ids of the label yes.
        no: Ids of the label no.
        batch_tokens: Of one forward pass, padding included.

    Raises:
        ConfigurationError: Packed and separate passes differ: the model does not honour the mask.
    """

    def __init__(
        self, model: Any, yes: Sequence[int], no: Sequence[int], *, batch_tokens: int = 16_384
    ) -> None:
        check_attention(model.config)
        self.model = model
        self._yes = torch.tensor(list(yes), device=model.device)
        self._no = torch.tensor(list(no), device=model.device)
        self._batches = DeviceBatches(
            batch_tokens,
            exhausted=torch.OutOfMemoryError,
            release=torch.cuda.empty_cache,
            noun="trace",
        )
        self.passes = 0
        """Forward passes so far."""
        self.tokens = 0
        """Tokens computed so far, padding not included."""
        self._self_test()

    def masses(self, trees: Sequence[Tree]) -> list[list[tuple[float, float]]]:
        """Per tree and branch, the probability of the yes labels and of the no labels.

        Raises:
            JudgeUnavailable: Not even one tree at a time fits into memory.
        """
        return self._batches.run(self._forward, trees, [tree.tokens for tree in trees])

    def separate(self, tree: Tree) -> list[tuple[float, float]]:
        """The same verdicts the naive way, one ordinary pass per branch; for comparison."""
        found = []
        for branch in tree.branches:
            ids = torch.tensor([[*tree.prefix, *branch]], device=self.model.device)
            with torch.inference_mode():
                logits = self.model(input_ids=ids, logits_to_keep=1, use_cache=False).logits
            found += self._read(logits[:, -1:])[0]
        return found

    def _forward(self, trees: Sequence[Tree]) -> list[list[tuple[float, float]]]:
        batch = pack(trees)
        device = self.model.device
        with torch.inference_mode():
            logits = self.model(
                input_ids=batch.input_ids.to(device),
                attention_mask=batch.mask.to(device),
                position_ids=batch.position_ids.to(device),
                logits_to_keep=batch.keep.to(device),
                use_cache=False,
            ).logits
        self.passes += 1
        self.tokens += sum(tree.tokens for tree in trees)
        rows = self._read(logits)
        return [row[: len(tree.branches)] for row, tree in zip(rows, trees, strict=True)]

    def _read(self, logits: torch.Tensor) -> list[list[tuple[float, float]]]:
        shares = torch.log_softmax(logits.float(), dim=-1)
        yes = shares[..., self._yes].logsumexp(-1).exp()
        no = shares[..., self._no].logsumexp(-1).exp()
        return [
            list(zip(a, b, strict=True)) for a, b in zip(yes.tolist(), no.tolist(), strict=True)
        ]

    def _self_test(self) -> None:
        """Compare packed with separate on random ids: a forgotten mask is silent otherwise."""
        limit = SELF_TEST_LIMIT.get(self.model.dtype, 1e-3)
        trees = list(_probe_trees(int(self.model.get_input_embeddings().weight.shape[0])))
        worst = 0.0
        for tree, packed in zip(trees, self._forward(trees), strict=True):
            for one, other in zip(packed, self.separate(tree), strict=True):
                worst = max(worst, abs(share(*one) - share(*other)))
        if not worst <= limit:
            raise ConfigurationError(
                "packed and separate verdicts differ by {worst:.2g} (limit {limit:.0e}): this "
                "model does not honour tree attention; use openai_compatible with a server",
                worst=worst,
                limit=limit,
            )


def share(yes: float, no: float) -> float:
    """The share of yes in yes + no; 0.5 when both are 0."""
    total = yes + no
    return yes / total if total > 0 and math.isfinite(total) else (0.5 if total == 0 else math.nan)


def check_attention(config: Any) -> None:
    """Refuse models that cannot take a tree mask.

    Raises:
        ConfigurationError: Not sdpa, soft-capped, recurrent or hybrid attention.
    """
    text = config.get_text_config()
    if text._attn_implementation != "sdpa":
        raise ConfigurationError(
            "the packed judge needs sdpa attention, not {attention!r}",
            attention=text._attn_implementation,
        )
    if getattr(text, "attn_logit_softcapping", None):
        raise ConfigurationError(
            "soft-capped attention (Gemma 2) cannot be packed; use openai_compatible"
        )
    others = set(getattr(text, "layer_types", None) or ()) - {"full_attention"}
    if others:
        raise ConfigurationError(
            "layers of type {others} cannot be packed; use openai_compatible",
            others=", ".join(sorted(others)),
        )


def _probe_trees(vocabulary: int) -> Iterator[Tree]:
    draw = torch.Generator().manual_seed(7)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, vocabulary, (count,), generator=draw).tolist())

    for length, branches, longest in _PROBE_IDS:
        yield Tree(ids(length), tuple(ids(1 + n % longest) for n in range(branches)))
