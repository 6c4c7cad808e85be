"""Measures of a ranking against labelled relevant ids."""

from rag_monitor.metrics.ranking.measures import (
    RankingScores,
    average_precision,
    dcg,
    hit_rate_at,
    ndcg_at,
    precision_at,
    rank_scores,
    recall_at,
    reciprocal_rank,
    relevance_grades,
)

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
