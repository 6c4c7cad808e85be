"""Ranking measures against ir-measures (pytrec_eval) on random rankings."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.ranking import (
    average_precision,
    ndcg_at,
    precision_at,
    rank_scores,
    recall_at,
    reciprocal_rank,
)

QUERIES = 1000


def _rankings(seed: int = 3) -> Iterator[tuple[str, list[str], dict[str, int]]]:
    draw = random.Random(seed)
    for number in range(QUERIES):
        pool = [f"d{n}" for n in range(draw.randint(2, 30))]
        retrieved = draw.sample(pool, draw.randint(1, len(pool)))
        grades = {id_: draw.choice([0, 0, 1, 1, 2, 3]) for id_ in pool}
        grades[draw.choice(pool)] = 1
        yield f"q{number}", retrieved, grades


@pytest.mark.parametrize("k", [1, 3, 10])
def test_every_measure_equals_ir_measures_on_random_rankings(k: int) -> None:
    """Tolerance 1e-9, 1,000 queries, graded relevance."""
    import ir_measures
    from ir_measures import AP, RR, R, nDCG

    wanted = {"p": ir_measures.P @ k, "r": R @ k, "ap": AP @ k, "ndcg": nDCG @ k, "rr": RR @ k}
    rankings = list(_rankings())
    qrels = [
        ir_measures.Qrel(query, id_, grade)
        for query, _, grades in rankings
        for id_, grade in grades.items()
    ]
    run = [
        ir_measures.ScoredDoc(query, id_, 1.0 / rank)
        for query, retrieved, _ in rankings
        for rank, id_ in enumerate(retrieved, start=1)
    ]
    theirs = {
        (m.query_id, str(m.measure)): m.value
        for m in ir_measures.iter_calc(list(wanted.values()), qrels, run)
    }

    for query, retrieved, grades in rankings:
        ours = {
            "p": precision_at(retrieved, grades, k),
            "r": recall_at(retrieved, grades, k),
            "ap": average_precision(retrieved, grades, k),
            "ndcg": ndcg_at(retrieved, grades, k),
            "rr": reciprocal_rank(retrieved, grades, k),
        }
        for name, value in ours.items():
            assert value == pytest.approx(theirs[query, str(wanted[name])], abs=1e-9), name


def test_a_repeated_id_counts_at_its_first_rank_and_is_removed_before_k() -> None:
    assert precision_at(["a", "a", "b"], ["a", "b"], 2) == 1.0
    assert rank_scores(["a", "a", "x"], ["a"]).precision == 0.5


def test_nothing_retrieved_scores_zero_and_nothing_labelled_scores_nothing() -> None:
    nothing = rank_scores([], ["a"])

    assert (nothing.precision, nothing.recall, nothing.ndcg, nothing.hit) == (0, 0, 0, 0)
    with pytest.raises(NotApplicable):
        rank_scores(["a"], [])


def test_a_grade_of_zero_is_not_relevant() -> None:
    assert recall_at(["a", "b"], {"a": 0, "b": 2}, 2) == 1.0


def test_a_cut_off_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        precision_at(["a"], ["a"], 0)
