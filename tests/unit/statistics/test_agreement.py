"""Agreement and calibration against statsmodels, scipy and hand-counted cases."""

from __future__ import annotations

import random

import pytest

from rag_monitor.statistics.agreement import (
    auroc,
    binary_agreement,
    clustered_bootstrap,
    cohen_kappa,
)
from rag_monitor.statistics.calibration import (
    brier,
    ece_equal_mass,
    fit_isotonic,
    fit_platt,
    logit,
)


def _pairs(seed: int, n: int = 80) -> tuple[list[int], list[int]]:
    generator = random.Random(seed)
    first = [generator.randrange(3) for _ in range(n)]
    second = [a if generator.random() < 0.7 else generator.randrange(3) for a in first]
    return first, second


def test_kappa_and_its_interval_agree_with_statsmodels() -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    first, second = _pairs(5)
    table, _ = inter_rater.to_table(list(zip(first, second, strict=True)))

    theirs = inter_rater.cohens_kappa(table)
    ours = cohen_kappa(first, second)

    assert ours.value == pytest.approx(theirs.kappa)
    assert ours.se == pytest.approx(theirs.std_kappa)
    assert ours.interval.lower == pytest.approx(theirs.kappa_low)


def test_raters_who_only_ever_say_one_thing_agree() -> None:
    assert cohen_kappa(["a", "a"], ["a", "a"]).value == 1.0
    with pytest.raises(ValueError, match="same items"):
        cohen_kappa([], [])


def test_auroc_agrees_with_the_rank_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = random.Random(2)
    labels = [generator.random() < 0.3 for _ in range(120)]
    scores = [round(generator.gauss(float(label), 1.0), 1) for label in labels]
    positive = [s for s, label in zip(scores, labels, strict=True) if label]
    negative = [s for s, label in zip(scores, labels, strict=True) if not label]

    u = stats.mannwhitneyu(positive, negative).statistic

    assert auroc(scores, labels) == pytest.approx(u / len(positive) / len(negative))


def test_auroc_counts_ties_half_and_needs_both_classes() -> None:
    assert auroc([0.5, 0.5], [0, 1]) == 0.5
    assert auroc([0.1, 0.9], [1, 1]) is None


def test_counts_give_balanced_accuracy_and_f1() -> None:
    found = binary_agreement([1, 1, 0, 0, 1], [1, 0, 0, 1, 1])

    assert (found.tp, found.fp, found.tn, found.fn) == (2, 1, 1, 1)
    assert found.balanced_accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found.f1 == pytest.approx(2 / 3)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.accuracy == pytest.approx(0.6)
    empty = binary_agreement([], [])
    assert (empty.balanced_accuracy, empty.f1, empty.precision) == (None, None, None)
    assert (empty.recall, empty.accuracy) == (None, None)


def test_the_bootstrap_draws_whole_clusters() -> None:
    rows = [float(cluster) for cluster in range(10) for _ in range(20)]
    clusters = [cluster for cluster in range(10) for _ in range(20)]

    def mean(values: object) -> float:
        items = list(values)  # type: ignore[call-overload]
        return float(sum(items) / len(items))

    together = clustered_bootstrap(rows, clusters, mean, runs=300)
    apart = clustered_bootstrap(rows, range(200), mean, runs=300)

    assert together is not None
    assert apart is not None
    assert together.width > 3 * apart.width
    assert together == clustered_bootstrap(rows, clusters, mean, runs=300)


def test_a_statistic_that_is_hardly_ever_defined_has_no_interval() -> None:
    assert clustered_bootstrap([1], [0], lambda _: None, runs=10) is None
    assert clustered_bootstrap([], [], lambda _: 0.0, runs=10) is None


def test_platt_finds_the_maximum_that_scipy_finds() -> None:
    numpy = pytest.importorskip("numpy")
    optimize = pytest.importorskip("scipy.optimize")
    generator = random.Random(4)
    raw = [generator.random() for _ in range(300)]
    y = [int(generator.random() < 0.2 + 0.5 * p) for p in raw]
    w = [generator.uniform(0.5, 3.0) for _ in raw]
    positive = sum(wi for wi, yi in zip(w, y, strict=True) if yi)
    negative = sum(w) - positive
    x = numpy.array([logit(p) for p in raw])
    t = numpy.where(numpy.array(y) == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(params: object) -> float:
        slope, intercept = params  # type: ignore[misc]
        z = slope * x + intercept
        return float(numpy.sum(numpy.array(w) * (numpy.logaddexp(0, z) - t * z)))

    theirs = optimize.minimize(loss, (1.0, 0.0), tol=1e-12).x
    ours = fit_platt(raw, y, w)

    assert (ours.slope, ours.intercept) == pytest.approx(tuple(theirs), abs=1e-4)


def test_platt_improves_an_overconfident_score() -> None:
    generator = random.Random(6)
    truth = [generator.uniform(0.2, 0.8) for _ in range(2000)]
    y = [int(generator.random() < p) for p in truth]
    loud = [1 / (1 + 2.718281828 ** (-4 * logit(p))) for p in truth]

    fitted = fit_platt(loud, y)
    calm = [fitted.apply(p) for p in loud]

    assert fitted.slope == pytest.approx(0.25, abs=0.06)
    assert ece_equal_mass(calm, y) < ece_equal_mass(loud, y) / 3
    assert brier(calm, y) < brier(loud, y)


def test_platt_survives_separable_and_constant_scores() -> None:
    separable = fit_platt([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    constant = fit_platt([0.4] * 4, [0, 1, 1, 1])

    assert 0 < separable.apply(0.1) < 0.5 < separable.apply(0.9) < 1
    # Platt's smoothed targets: (3 * 4/5 + 1 * 1/3) / 4.
    assert constant.apply(0.4) == pytest.approx((3 * 0.8 + 1 / 3) / 4, abs=1e-4)


@pytest.mark.parametrize(("p", "y"), [([0.1, 0.2], [0, 0]), ([0.1], [0, 1]), ([], [])])
def test_calibration_without_both_classes_is_refused(p: list[float], y: list[int]) -> None:
    with pytest.raises(ValueError, match="calibration needs"):
        fit_platt(p, y)


def test_isotonic_agrees_with_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    generator = random.Random(8)
    raw = sorted(generator.random() for _ in range(60))
    y = [int(generator.random() < p) for p in raw]
    w = [generator.uniform(0.5, 3.0) for _ in raw]

    theirs = optimize.isotonic_regression(y, weights=w).x
    ours = fit_isotonic(raw, y, w)

    assert [ours.apply(p) for p in raw] == pytest.approx(list(theirs))


def test_isotonic_is_flat_beyond_what_it_saw() -> None:
    fitted = fit_isotonic([0.3, 0.3, 0.7], [0, 1, 1])

    assert fitted.apply(0.0) == 0.5
    assert fitted.apply(1.0) == 1.0
    assert fitted.apply(0.5) == pytest.approx(0.75)


def test_calibration_error_and_brier_score_of_the_published_case() -> None:
    p = [0.05, 0.1, 0.2, 0.25, 0.4, 0.45, 0.6, 0.7, 0.9, 0.95]
    y = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1]

    assert ece_equal_mass(p, y, 5) == pytest.approx(0.13)
    assert brier(p, y) == pytest.approx(0.174)
