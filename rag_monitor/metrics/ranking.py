"""Precision, recall, F1, AP, NDCG, MRR and hit rate of a ranking against labelled relevant ids.

Definitions are those of trec_eval; the tests hold them against ir-measures. A document id that is
repeated counts at its first rank and is removed before k. Nothing retrieved scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_monitor.errors import NotApplicable

__all__ = [
    "RankingScores",
    "average_precision",
    "dcg",
    "hit_rate_at",
    "ndcg_at",
    "precision_at",
    "rank_scores",
    "recall_at",
    "reciprocal_rank",
    "relevance_grades",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingScores:
    """All ranking measures of one query at one cut-off, each 0 to 1."""

    k: int
    precision: float
    recall: float
    f1: float
    average_precision: float
    ndcg: float
    reciprocal_rank: float
    hit: float


def relevance_grades(relevant: Mapping[str, float] | Iterable[str]) -> dict[str, float]:
    """Grades by document id; a plain collection of ids has grade 1. Grade 0 means irrelevant."""
    if isinstance(relevant, Mapping):
        return {str(key): float(grade) for key, grade in relevant.items()}
    return {str(key): 1.0 for key in relevant}


def rank_scores(
    retrieved: Sequence[str], relevant: Mapping[str, float] | Iterable[str], k: int | None = None
) -> RankingScores:
    """Every measure at once.

    Args:
        retrieved: Document ids in rank order.
        relevant: Labelled relevant ids, or grades by id.
        k: Cut-off; None takes the whole list (at least 1).

    Raises:
        NotApplicable: No id is labelled relevant.
        ValueError: `k` is below 1.
    """
    grades = _positive(relevant)
    ids = _unique(retrieved)
    cut = max(len(ids), 1) if k is None else k
    precision, recall = precision_at(ids, grades, cut), recall_at(ids, grades, cut)
    total = precision + recall
    return RankingScores(
        k=cut,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / total if total else 0.0,
        average_precision=average_precision(ids, grades, cut),
        ndcg=ndcg_at(ids, grades, cut),
        reciprocal_rank=reciprocal_rank(ids, grades, cut),
        hit=hit_rate_at(ids, grades, cut),
    )


def precision_at(
    retrieved: Sequence[str], relevant: Mapping[str, float] | Iterable[str], k: int
) -> float:
    """Relevant documents among the first k, divided by k."""
    return _relevant_found(retrieved, relevant, k) / k


def recall_at(
    retrieved: Sequence[str], relevant: Mapping[str, float] | Iterable[str], k: int
) -> float:
    """Relevant documents among the first k, divided by all relevant documents."""
    return _relevant_found(retrieved, relevant, k) / len(_positive(relevant))


def hit_rate_at(
    retrieved: Sequence[str], relevant: Mapping[str, float] | Iterable[str], k: int
) -> float:
    """1 if any of the first k is relevant, else 0."""
    return float(_relevant_found(retrieved, relevant, k) > 0)


def average_precision(
    retrieved: Sequence[str],
    relevant: Mapping[str, float] | Iterable[str],
    k: int | None = None,
) -> float:
    """AP = 1/R * sum over relevant ranks of precision there; MAP is its mean over queries."""
    grades = _positive(relevant)
    hits, total = 0, 0.0
    for rank, id_ in enumerate(_cut(retrieved, k), start=1):
        if id_ in grades:
            hits += 1
            total += hits / rank
    return total / len(grades)


def reciprocal_rank(
    retrieved: Sequence[str],
    relevant: Mapping[str, float] | Iterable[str],
    k: int | None = None,
) -> float:
    """1 / rank of the first relevant document, 0 when there is none; MRR is its mean."""
    grades = _positive(relevant)
    for rank, id_ in enumerate(_cut(retrieved, k), start=1):
        if id_ in grades:
            return 1.0 / rank
    return 0.0


def dcg(grades: Iterable[float]) -> float:
    """Discounted cumulative gain with linear gains: sum of grade_i / log2(i + 1)."""
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def ndcg_at(
    retrieved: Sequence[str],
    relevant: Mapping[str, float] | Iterable[str],
    k: int | None = None,
) -> float:
    """DCG divided by the DCG of the ideal order (Järvelin and Kekäläinen 2002)."""
    grades = _positive(relevant)
    ids = _cut(retrieved, k)
    ideal = sorted(grades.values(), reverse=True)
    best = dcg(ideal[: k if k is not None else max(len(ids), len(ideal))])
    return dcg(grades.get(id_, 0.0) for id_ in ids) / best


def _relevant_found(
    retrieved: Sequence[str], relevant: Mapping[str, float] | Iterable[str], k: int
) -> int:
    grades = _positive(relevant)
    return sum(id_ in grades for id_ in _cut(retrieved, k))


def _cut(retrieved: Sequence[str], k: int | None) -> Sequence[str]:
    if k is not None and k < 1:
        raise ValueError(f"k = {k}: a cut-off is at least 1")
    return _unique(retrieved)[:k]


def _unique(retrieved: Sequence[str]) -> Sequence[str]:
    return tuple(dict.fromkeys(str(id_) for id_ in retrieved))


def _positive(relevant: Mapping[str, float] | Iterable[str]) -> dict[str, float]:
    grades = {key: grade for key, grade in relevance_grades(relevant).items() if grade > 0}
    if not grades:
        raise NotApplicable("no_relevant_ids")
    return grades
