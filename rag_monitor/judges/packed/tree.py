"""A trace as one sequence: a shared prefix and branches that cannot see each other.

positions   prefix 0 to n-1; every branch restarts at n
mask        causal inside the prefix; a branch sees the prefix and, causally, itself
verdict     the logits at the last token of each branch
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


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
