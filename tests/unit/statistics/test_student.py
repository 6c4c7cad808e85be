"""Student's t against scipy."""

from __future__ import annotations

import pytest

from rag_monitor.statistics.moments import MeanEstimate, t_interval, t_p_value, t_two_sided


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 30, 199, 999])
def test_quantiles_are_scipys(confidence: float, degrees: int) -> None:
    stats = pytest.importorskip("scipy.stats")

    expected = stats.t.ppf(0.5 + confidence / 2, degrees)

    assert t_two_sided(confidence, degrees) == pytest.approx(expected, rel=1e-10)


def test_many_degrees_are_the_normal_quantile() -> None:
    assert t_two_sided(0.95, 10_000) == pytest.approx(1.9599639845)


def test_the_interval_reaches_as_far_on_both_sides() -> None:
    found = t_interval(MeanEstimate(1.0, 0.5), 3)

    assert (found.lower, found.upper) == pytest.approx((1 - 0.5 * 4.30265273, 1 + 0.5 * 4.30265273))
    with pytest.raises(ValueError, match="two values"):
        t_interval(MeanEstimate(1.0, 0.5), 1)


@pytest.mark.parametrize(("n", "confidence"), [(2, 0.95), (9, 0.95), (30, 0.99), (5000, 0.95)])
def test_the_p_value_is_the_risk_at_which_the_interval_touches_zero(
    n: int, confidence: float
) -> None:
    assert t_p_value(0.2, 0.2, n, confidence) == pytest.approx(1.0 - confidence, rel=1e-6)
    assert t_p_value(-0.2, 0.1, n, confidence) < 1.0 - confidence < t_p_value(0.1, 0.2, n)
    assert t_p_value(0.0, 0.2, n) == 1.0
    assert t_p_value(0.3, 0.0, n) == 0.0
