"""Statements against a reference: answer correctness, and noise sensitivity (smaller is better).

TP are statements of the answer that the reference supports, FP those it does not, FN statements
of the reference that the answer lacks. For noise a passage is relevant when it supports any
statement of the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rag_monitor.errors import NotApplicable

SIMILARITY_SHARE: Final = 0.25
"""Weight of the semantic similarity; the rest is the F score of the statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementCounts:
    """How the statements of an answer and of its reference meet."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    def f_score(self, beta: float = 1.0) -> float:
        """F_beta = (1 + b²) TP / ((1 + b²) TP + b² FN + FP); beta above 1 favours recall.

        An answer without statements covers nothing: 0.

        Raises:
            NotApplicable: Neither side has statements.
        """
        if not self.tp + self.fp + self.fn:
            raise NotApplicable("no_statements")
        square = beta * beta
        hits = (1 + square) * self.tp
        return hits / (hits + square * self.fn + self.fp) if self.tp else 0.0


def answer_correctness(
    counts: StatementCounts,
    similarity: float | None,
    *,
    similarity_share: float = SIMILARITY_SHARE,
    beta: float = 1.0,
) -> float:
    """(1 - w) · F_beta(statements) + w · similarity, 0 to 1.

    Args:
        counts: What a judge found.
        similarity: Cosine of answer and reference; below 0 counts as 0. None only with w = 0.
        similarity_share: w, 0 to 1.
        beta: See `StatementCounts.f_score`.

    Raises:
        NotApplicable: Neither side has statements, or the similarity is missing.
        ValueError: `similarity_share` is not between 0 and 1.
    """
    if not 0 <= similarity_share <= 1:
        raise ValueError(f"similarity_share = {similarity_share}: it lies between 0 and 1")
    factual = counts.f_score(beta)
    if not similarity_share:
        return factual
    if similarity is None:
        raise NotApplicable("no_embedder")
    return (1 - similarity_share) * factual + similarity_share * max(0.0, similarity)


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
