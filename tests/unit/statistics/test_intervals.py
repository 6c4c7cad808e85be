"""Intervals and estimators against published figures, scipy and statsmodels."""

from __future__ import annotations

import math
import random

import pytest

from benchmarks.statistics_reference import (
    difference_mean,
    ppi_effective_wilson,
    ppi_mean,
    three_level_mean,
)
from rag_monitor.statistics.comparison import mover_difference
from rag_monitor.statistics.difference import DifferenceSums
from rag_monitor.statistics.moments import hajek_from_sums, mean_from_sums
from rag_monitor.statistics.wilson import (
    effective_wilson,
    wilson_interval,
    wilson_lower,
    z_one_sided,
    z_two_sided,
)

Y = (1, 1, 0, 1, 1, 0, 1, 0, 1, 1)
F = (0.95, 0.55, 0.6, 0.85, 0.7, 0.2, 0.4, 0.3, 0.95, 0.8)
F_REST = (
    *(0.9, 0.8, 0.3, 0.95, 0.85, 0.7, 0.1, 0.9, 0.6, 0.75),
    *(0.92, 0.88, 0.5, 0.97, 0.65, 0.81, 0.45, 0.93, 0.77, 0.86),
)
PI = (0.2, 0.3, 0.8, 0.2, 0.9, 0.5, 0.6, 0.25)
DRAWN = (0, 1, 1, 0, 1, 1, 0, 0)
JUDGED = (None, 1, 0, None, 0, 1, None, None)
CHEAP = (0.9, 0.8, 0.3, 0.95, 0.2, 0.7, 0.6, 0.85)


@pytest.mark.parametrize(
    ("k", "n", "lower", "upper"),
    [
        (45, 50, 0.7863976856, 0.9565242351),
        (0, 20, 0.0, 0.1611251581),
        (97, 100, 0.9154806357, 0.9897454760),
        (930, 1000, 0.9124853518, 0.9442236359),
    ],
)
def test_wilson_gives_the_published_bounds(k: int, n: int, lower: float, upper: float) -> None:
    interval = wilson_interval(k, n)

    assert interval.lower == pytest.approx(lower, abs=1e-10)
    assert interval.upper == pytest.approx(upper, abs=1e-10)


def test_wilson_agrees_with_statsmodels_on_every_count() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for n in (1, 7, 60):
        for k in range(n + 1):
            ours = wilson_interval(k, n, 0.9)
            theirs = proportion.proportion_confint(k, n, alpha=0.1, method="wilson")
            assert (ours.lower, ours.upper) == pytest.approx(theirs, abs=1e-12)


def test_wilson_is_exact_at_the_ends_and_takes_real_counts() -> None:
    assert wilson_interval(0, 9.5).lower == 0.0
    assert wilson_interval(9.5, 9.5).upper == 1.0
    assert 0.5 in wilson_interval(5.25, 10.5)
    assert wilson_lower(9, 30) == pytest.approx(0.11799135504347133, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(-1, 10), (11, 10), (0, 0), (math.nan, 10)])
def test_impossible_counts_are_refused(k: float, n: float) -> None:
    with pytest.raises(ValueError, match="successes"):
        wilson_interval(k, n)


def test_quantiles_agree_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")

    assert z_two_sided(0.95) == pytest.approx(stats.norm.ppf(0.975), abs=1e-12)
    assert z_one_sided(0.999) == pytest.approx(stats.norm.ppf(0.999), abs=1e-12)
    with pytest.raises(ValueError, match="confidence"):
        z_two_sided(95)


def test_the_effective_size_stays_within_its_clip() -> None:
    narrow = effective_wilson(0.9, 0.001, 100)
    wide = effective_wilson(0.9, 0.5, 100)

    assert narrow.effective == 400
    assert wide.effective == pytest.approx(40)
    assert narrow.interval.width < wide.interval.width
    assert effective_wilson(1.2, 0.05, 100).upper == 1.0


def test_ppi_reproduces_the_published_example() -> None:
    classical = ppi_mean(Y, F, F_REST, 0.0, variance_ddof=0)
    full = ppi_mean(Y, F, F_REST, 1.0, variance_ddof=0)
    tuned = ppi_mean(Y, F, F_REST, variance_ddof=0, covariance_ddof=0)

    assert classical.value == pytest.approx(0.7)
    assert classical.normal_interval().lower == pytest.approx(0.4159742349, abs=1e-9)
    assert full.value == pytest.approx(0.7995)
    assert full.normal_interval().upper == pytest.approx(1.0332271433, abs=1e-9)
    assert tuned.lam == pytest.approx(0.8721157086, abs=1e-9)
    assert tuned.value == pytest.approx(0.7867755130, abs=1e-9)
    assert tuned.se == pytest.approx(0.1186659881, abs=1e-9)


def test_a_useless_score_costs_nothing() -> None:
    constant = ppi_mean(Y, (0.5,) * 10, (0.5,) * 20)

    assert constant.lam == 0.0
    assert constant.value == pytest.approx(0.7)
    assert ppi_effective_wilson(constant).effective == pytest.approx(10)


def test_designed_sampling_reproduces_the_published_example() -> None:
    found = difference_mean(CHEAP, JUDGED, PI, DRAWN)

    assert found.value == pytest.approx(0.7461805556)
    assert found.se == pytest.approx(0.1976625265)


def test_a_drawn_trace_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a value"):
        difference_mean((0.5,), (None,), (0.5,), (1,))
    with pytest.raises(ValueError, match="probabilities"):
        difference_mean((0.5,), (1,), (0.0,), (1,))


def test_sums_give_the_same_difference_estimate_as_the_traces() -> None:
    ratios = [d / p for d, p in zip(DRAWN, PI, strict=True)]
    a = [f * (r - 1) for f, r in zip(CHEAP, ratios, strict=True)]
    b = [(y or 0) * r for y, r in zip(JUDGED, ratios, strict=True)]
    sums = DifferenceSums(
        n=8,
        judged=4,
        a=sum(a),
        b=sum(b),
        aa=sum(x * x for x in a),
        bb=sum(x * x for x in b),
        ab=sum(x * y for x, y in zip(a, b, strict=True)),
    )

    for lam in (0.0, 0.6, 1.0):
        direct = difference_mean(CHEAP, JUDGED, PI, DRAWN, lam)
        found = sums.estimate(lam)
        assert (found.value, found.se) == pytest.approx((direct.value, direct.se))
    assert sums.tuned_lam() == 1.0
    assert DifferenceSums().tuned_lam() == 1.0


def test_equal_weights_make_the_weighted_mean_the_plain_one() -> None:
    values = [0.2, 0.9, 1.0, 0.4]
    total, squares = sum(values), sum(v * v for v in values)

    plain = mean_from_sums(4, total, squares)
    weighted = hajek_from_sums(4, 20, 5 * total, 100, 25 * total, 25 * squares)

    assert (weighted.value, weighted.se) == pytest.approx((plain.value, plain.se))
    assert mean_from_sums(1, 0.5, 0.25).se == 0.0
    assert mean_from_sums(3, 2.1, 3 * 0.49).se == 0.0


def test_three_levels_report_the_judges_bias_against_people() -> None:
    found = three_level_mean(
        f=(0.5, 0.5, 0.5, 0.5),
        judge=(1.0, 1.0, 1.0, 1.0),
        pi=(1.0,) * 4,
        judged=(1,) * 4,
        human=(0.0, 0.0, 0.0, 0.0),
        pi_human=(1.0,) * 4,
        human_sampled=(1,) * 4,
    )

    assert found.value == 0.0
    assert found.judge_bias.value == -1.0


def test_the_difference_interval_is_newcombes() -> None:
    first, second = wilson_interval(56, 70), wilson_interval(48, 80)

    interval = mover_difference(56 / 70, first, 48 / 80, second)

    # Newcombe 1998, table II, method 10, example (a).
    assert interval.lower == pytest.approx(0.0524, abs=5e-5)
    assert interval.upper == pytest.approx(0.3339, abs=5e-5)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = random.Random(7)
    covered = 0
    for _ in range(400):
        values = [float(generator.random() < 0.9) for _ in range(80)]
        point = mean_from_sums(80, sum(values), sum(values))
        covered += 0.9 in effective_wilson(point.value, point.se, 80).interval
    assert 0.91 <= covered / 400 <= 0.99
