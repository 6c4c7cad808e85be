"""The design effect against the formulas it comes from."""

from __future__ import annotations

import math
import random
from statistics import fmean

import pytest

from rag_monitor.domain.rollup import CLUSTER_BUCKETS as BUCKETS
from rag_monitor.statistics.clusters import (
    INDEPENDENT,
    DesignEffect,
    Sizes,
    between_buckets,
    clustered_wilson,
    design_effect,
)
from rag_monitor.statistics.wilson import effective_wilson


def _sizes(counts: list[int], single: int = 0, share: float = 1.0) -> Sizes:
    """One cluster per bucket; `share` of the traces is judged, all with the same chance."""
    traces = float(sum(counts) + single)
    return Sizes(
        buckets=[*map(float, counts), *[0.0] * (BUCKETS - len(counts))],
        weight=traces,
        squares=traces,
        judged_squares=traces / share,
    )


def test_buckets_are_held_against_their_mean() -> None:
    assert between_buckets([1.0, 3.0]) == pytest.approx(2.0 / 1.0 * ((-1.0) ** 2 + 1.0**2))
    assert between_buckets([2.0] * BUCKETS) == 0.0


def test_pairs_are_counted_by_cluster() -> None:
    sizes = _sizes([5] * BUCKETS)

    # Equal buckets look like clusters spread evenly: no more alike than that.
    assert sizes.pairs == 0.0
    assert _sizes([50]).pairs == pytest.approx(50 * 49)
    assert _sizes([3, 4], share=0.5).pairs_per_trace < _sizes([3, 4]).pairs_per_trace


def test_hashed_sessions_have_the_pairs_that_there_are() -> None:
    rng = random.Random(5)
    found = []
    for _ in range(400):
        counts = [0] * BUCKETS
        for _ in range(300):
            counts[rng.randrange(BUCKETS)] += 4
        found.append(_sizes(counts).pairs)

    assert fmean(found) == pytest.approx(300 * 4 * 3, rel=0.05)


def test_alike_traces_count_once() -> None:
    """Twenty sessions of five traces, all good or all bad together."""
    good = [session < 14 for session in range(20)]
    influence = [(5.0 * value - 5.0 * 0.7) / 100.0 for value in good] + [0.0] * (BUCKETS - 20)

    found = design_effect(influence, 0.7 * 0.3 / 100.0, _sizes([5] * 20))

    # The size of a session, times 20/19 for there being few of them.
    assert found.value == pytest.approx(5.0 * 20 / 19)
    assert found.degrees == 19


def test_without_clusters_nothing_changes() -> None:
    none = _sizes([], single=100)

    assert design_effect([0.0] * BUCKETS, 0.01, none) == INDEPENDENT
    for value in (0.0, 0.3, 0.95, 1.0):
        se = math.sqrt(value * (1.0 - value) / 100.0)
        assert clustered_wilson(value, se, 100.0, INDEPENDENT) == effective_wilson(value, se, 100)


def _dealt(rng: random.Random, sessions: int, turns: int) -> tuple[list[int], list[float]]:
    """Traces and good ones per bucket, of sessions dealt by chance; two thirds are good."""
    counts, good = [0] * BUCKETS, [0.0] * BUCKETS
    for session in range(sessions):
        bucket = rng.randrange(BUCKETS)
        counts[bucket] += turns
        good[bucket] += turns * (session % 3 > 0)
    return counts, good


def test_a_window_has_as_much_of_it_as_it_has_pairs() -> None:
    rng = random.Random(2)
    whole, apart, together = [], [], []
    for _ in range(200):
        counts, good = _dealt(rng, 300, 5)
        traces = sum(counts)
        influence = [(g - 2 / 3 * n) / traces for g, n in zip(good, counts, strict=True)]
        variance, over = 2 / 9 / traces, _sizes(counts)
        whole.append(design_effect(influence, variance, over))
        window = _sizes(_dealt(rng, 50, 1)[0])
        apart.append(design_effect(influence, variance, over, window).value)
        window = _sizes(_dealt(rng, 10, 5)[0])
        together.append(design_effect(influence, variance, over, window).value)
        single = design_effect(influence, variance, over, _sizes([], single=50))
        assert single == INDEPENDENT

    assert fmean(one.value for one in whole) == pytest.approx(5.0, rel=0.05)
    assert all(one.degrees > 40 for one in whole)
    assert fmean(apart) == pytest.approx(1.0, abs=0.5), "each trace of another session"
    assert fmean(together) == pytest.approx(5.0, rel=0.15)


def test_where_all_is_alike_a_session_counts_as_one() -> None:
    found = design_effect([0.0] * BUCKETS, 0.0, _sizes([5] * 20))

    interval = clustered_wilson(1.0, 0.0, 100.0, found)
    assert interval.effective == pytest.approx(100 / found.value)
    assert found.value > 3.0
    assert interval.lower < effective_wilson(1.0, 0.0, 100.0).lower
    assert interval.upper == 1.0


@pytest.mark.parametrize("counts", [[90], [90, 3]])
def test_where_all_is_of_one_session_it_counts_as_one(counts: list[int]) -> None:
    """What the buckets add sums to 0, so that a single one adds nothing, however its traces are."""
    variance = 0.15 * 0.85 / sum(counts)

    found = design_effect([0.0] * BUCKETS, variance, _sizes(counts))

    assert found.value > 85.0
    assert clustered_wilson(0.15, math.sqrt(variance), 90.0, found).effective < 1.1


@pytest.mark.parametrize("counts", [[300], [300, 3], [300, *[3] * 40]])
def test_an_id_for_everything_is_no_session(counts: list[int]) -> None:
    assert design_effect([0.01] * BUCKETS, 0.01, _sizes(counts)) == INDEPENDENT


def test_an_uncertain_design_effect_widens_more_at_a_higher_level() -> None:
    design = DesignEffect(2.0, degrees=5)

    assert design.size(100.0, 0.95) == pytest.approx(50.0 * (1.959964 / 2.570582) ** 2, rel=1e-5)
    assert design.size(100.0, 0.999) < design.size(100.0, 0.95)
    assert DesignEffect(2.0).size(100.0, 0.999) == 50.0


def test_single_traces_beside_sessions_make_it_surer() -> None:
    influence = [(1.0 if n % 2 else -1.0) * 0.01 for n in range(4)] + [0.0] * (BUCKETS - 4)

    alone = design_effect(influence, 0.25 / 40, _sizes([10] * 4))
    beside = design_effect(influence, 0.25 / 400, _sizes([10] * 4, single=360))

    assert beside.degrees > alone.degrees


def test_chance_never_makes_an_interval_much_narrower() -> None:
    found = design_effect([0.0] * BUCKETS, 0.01, _sizes([5] * 20))

    assert found.value == 0.5
