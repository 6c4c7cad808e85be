"""Cosines of regenerated questions to the question."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rag_monitor.errors import JudgeOutputInvalid


def cosines(vectors: Sequence[Sequence[float]]) -> list[float]:
    """The cosine of the first vector with each of the others.

    Raises:
        JudgeOutputInvalid: A vector has no length, or they differ in dimension.
    """
    first, *others = [[float(x) for x in vector] for vector in vectors]
    if any(len(other) != len(first) for other in others):
        raise JudgeOutputInvalid("embeddings differ in dimension")
    norms = [math.sqrt(math.fsum(x * x for x in vector)) for vector in (first, *others)]
    if any(not math.isfinite(norm) or norm == 0.0 for norm in norms):
        raise JudgeOutputInvalid("an embedding has zero norm")
    return [
        math.fsum(a * b for a, b in zip(first, other, strict=True)) / (norms[0] * norm)
        for other, norm in zip(others, norms[1:], strict=True)
    ]
