"""Noise sensitivity: how often an answer takes something wrong from its passages.

Smaller is better. A passage is relevant when it supports any statement of the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rag_monitor.errors import NotApplicable

Matrix = Sequence[Sequence[bool | int]]
"""Statements x passages, passages by row: `matrix[passage][statement]`."""

Mode = Literal["relevant", "irrelevant"]


def noise_sensitivity(
    reference_by_passage: Matrix,
    answer_by_passage: Matrix,
    answer_by_reference: Sequence[bool | int],
    mode: Mode = "relevant",
) -> float:
    """Share of the answer's statements that are wrong and come from a passage.

    Args:
        reference_by_passage: Which statements of the reference each passage supports.
        answer_by_passage: Which statements of the answer each passage supports.
        answer_by_reference: Which statements of the answer the reference supports.
        mode: `relevant` counts wrong statements that a relevant passage supports; `irrelevant`
            those that only irrelevant passages support.

    Raises:
        NotApplicable: The answer has no statements.
        ValueError: The matrices do not fit together.
    """
    count = len(answer_by_reference)
    if not count:
        raise NotApplicable("no_statements")
    if len(reference_by_passage) != len(answer_by_passage):
        raise ValueError("both matrices need one row per passage")
    if any(len(row) != count for row in answer_by_passage):
        raise ValueError(f"every passage needs one verdict per statement of the answer: {count}")
    if len({len(row) for row in reference_by_passage}) > 1:
        raise ValueError("every passage needs one verdict per statement of the reference")
    relevant = [any(row) for row in reference_by_passage]
    noisy = 0
    for place, correct in enumerate(answer_by_reference):
        if correct:
            continue
        sources = [
            useful for useful, row in zip(relevant, answer_by_passage, strict=True) if row[place]
        ]
        noisy += any(sources) if mode == "relevant" else bool(sources) and not any(sources)
    return noisy / count
