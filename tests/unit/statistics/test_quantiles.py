"""Intervals of quantiles from order statistics, and p-values from intervals."""

from __future__ import annotations

import math

import pytest

from rag_monitor.statistics.comparison import mover_difference, p_from_interval
from rag_monitor.statistics.quantiles import Ranks, least_for_upper, quantile_ranks
from rag_monitor.statistics.wilson import Interval


def below(n: int, k: int, share: float) -> float:
    """P(Binomial(n, share) <= k), term by term."""
    return math.fsum(
        math.comb(n, i) * share**i * (1.0 - share) ** (n - i) for i in range(max(0, k + 1))
    )


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [0, 1, 5, 20, 71, 72, 367, 368, 1000])
def test_the_ranks_are_the_closest_ones_that_keep_the_risk_on_each_side(
    n: int, share: float
) -> None:
    lower, upper = quantile_ranks(n, share)

    # The quantile lies above the u-th value where at least u values lie below it.
    def above(u: int) -> float:
        return 1.0 - below(n, u - 1, share)

    if upper is None:
        assert above(n) > 0.025 or n == 0
    else:
        assert above(upper) <= 0.025 + 1e-12
        assert above(upper - 1) > 0.025
    if lower is None:
        assert below(n, 0, share) > 0.025
    else:
        assert below(n, lower - 1, share) <= 0.025 + 1e-12
        assert below(n, lower, share) > 0.025


def test_the_published_interval_of_a_median_is_reproduced() -> None:
    """Hahn and Meeker: of 100 values the 40th and the 61st hold the median with 95 %."""
    assert quantile_ranks(100, 0.5) == Ranks(40, 61)


@pytest.mark.parametrize(("share", "least"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_an_upper_end_takes_so_many_values(share: float, least: int) -> None:
    assert least_for_upper(share) == least
    assert quantile_ranks(least, share).upper == least
    assert quantile_ranks(least - 1, share).upper is None


def test_a_great_many_values_bring_the_ranks_of_the_normal_approximation() -> None:
    n = 10_000_000
    lower, upper = quantile_ranks(n, 0.99)

    half = 1.959964 * math.sqrt(n * 0.99 * 0.01)
    assert lower == pytest.approx(0.99 * n - half, abs=2)
    assert upper == pytest.approx(0.99 * n + half, abs=2)


def test_what_cannot_be_asked_is_refused() -> None:
    for given in ((10, 0.0, 0.95), (10, 1.0, 0.95), (10, 0.5, 1.0), (-1, 0.5, 0.95)):
        with pytest.raises(ValueError, match=r"not|cannot"):
            quantile_ranks(*given)


def test_the_p_value_of_a_difference_is_below_its_risk_where_the_interval_leaves_zero_out() -> None:
    assert p_from_interval(0.1, Interval(0.0, 0.3)) == pytest.approx(0.05)
    assert p_from_interval(-0.1, Interval(-0.3, 0.0)) == pytest.approx(0.05)
    assert (
        p_from_interval(0.1, Interval(0.001, 0.3))
        < 0.05
        < p_from_interval(0.1, Interval(-0.001, 0.3))
    )
    # Altman and Bland 2011: a difference of 10 (-2.5 to 22.5) has p = 0.117.
    assert p_from_interval(10.0, Interval(-2.5, 22.5)) == pytest.approx(0.117, abs=5e-4)
    assert p_from_interval(0.0, Interval(0.0, 0.0)) == 1.0
    assert p_from_interval(0.2, Interval(0.2, 0.2)) == 0.0


def test_a_smaller_difference_has_a_larger_p_value() -> None:
    def p(first: float) -> float:
        ends = mover_difference(
            first, Interval(first - 0.05, first + 0.05), 0.5, Interval(0.4, 0.6)
        )
        return p_from_interval(first - 0.5, ends)

    assert p(0.9) < p(0.7) < p(0.55)
