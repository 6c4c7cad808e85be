"""A transformers model that answers all branches of many trees in one forward pass.

A trace is one sequence: a shared prefix and branches that cannot see each other.

positions   prefix 0 to n-1; every branch restarts at n
mask        causal inside the prefix; a branch sees the prefix and, causally, itself
verdict     the logits at the last token of each branch
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.batching import DeviceBatches


@dataclass(frozen=True, slots=True)
class Tree:
    """Token ids of one trace."""

    prefix: tuple[int, ...]
    branches: tuple[tuple[int, ...], ...]

    @property
    def tokens(self) -> int:
        """Length of the packed sequence."""
        return len(self.prefix) + sum(map(len, self.branches))


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Several trees, padded on the right to one length."""

    input_ids: torch.Tensor
    """(B, T)"""
    position_ids: torch.Tensor
    """(B, T)"""
    mask: torch.Tensor
    """(B, 1, T, T), True where a row may look."""
    keep: torch.Tensor
    """(B, K): places of the verdicts; short rows repeat place 0."""


def pack(trees: Sequence[Tree], pad: int = 0) -> PackedBatch:
    """Lay `trees` side by side, one per row.

    Padding looks at itself, so that no row of the mask is empty on any kernel.
    """
    length = max(tree.tokens for tree in trees)
    most = max(len(tree.branches) for tree in trees)
    input_ids = torch.full((len(trees), length), pad, dtype=torch.long)
    position_ids = torch.zeros((len(trees), length), dtype=torch.long)
    mask = torch.zeros((len(trees), 1, length, length), dtype=torch.bool)
    keep = torch.zeros((len(trees), most), dtype=torch.long)
    for row, tree in enumerate(trees):
        _lay(tree, input_ids[row], position_ids[row], mask[row, 0], keep[row])
    return PackedBatch(input_ids, position_ids, mask, keep)


def _lay(
    tree: Tree,
    input_ids: torch.Tensor,
    position_ids: torch.Tensor,
    mask: torch.Tensor,
    keep: torch.Tensor,
) -> None:
    shared = len(tree.prefix)
    flat = [*tree.prefix, *(token for branch in tree.branches for token in branch)]
    input_ids[: len(flat)] = torch.tensor(flat)
    position_ids[:shared] = torch.arange(shared)
    mask[:shared, :shared] = torch.ones(shared, shared, dtype=torch.bool).tril()
    start = shared
    for place, branch in enumerate(tree.branches):
        end = start + len(branch)
        position_ids[start:end] = torch.arange(shared, shared + len(branch))
        mask[start:end, :shared] = True
        mask[start:end, start:end] = torch.ones(len(branch), len(branch), dtype=torch.bool).tril()
        keep[place] = end - 1
        start = end
    mask.diagonal()[start:] = True


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
        masses = []
        for branch in tree.branches:
            ids = torch.tensor([[*tree.prefix, *branch]], device=self.model.device)
            with torch.inference_mode():
                logits = self.model(input_ids=ids, logits_to_keep=1, use_cache=False).logits
            masses += self._read(logits[:, -1:])[0]
        return masses

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
