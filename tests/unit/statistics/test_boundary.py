"""Intervals of figures at their limit: wide for few, narrow for many, right as often as said."""

from __future__ import annotations

from random import Random

import pytest

from rag_monitor.statistics.agreement import (
    auroc,
    auroc_interval,
    f1_interval,
    kappa_interval,
    mean_of_two_interval,
    share_interval,
)
from rag_monitor.statistics.wilson import Interval, wilson_interval


def test_a_share_has_wilsons_interval() -> None:
    assert share_interval(1.0, 20) == wilson_interval(20, 20)
    assert share_interval(0.0, 20).upper == pytest.approx(0.1611251581)


def test_the_mean_of_two_shares_lies_between_that_of_one_and_that_of_all() -> None:
    both = mean_of_two_interval((1.0, 10), (1.0, 10))

    assert both.upper == 1.0
    assert share_interval(1.0, 10).lower < both.lower < share_interval(1.0, 20).lower
    assert mean_of_two_interval((1.0, 10), (0.0, 10)).lower == pytest.approx(
        0.5 - (1.0 - wilson_interval(10, 10).lower) / 2.0
    )


def test_f1_and_kappa_go_with_the_share_behind_them() -> None:
    lower = wilson_interval(10, 10).lower

    assert f1_interval(1.0, 10) == Interval(pytest.approx(2 * lower / (1 + lower)), 1.0)  # type: ignore[arg-type]
    assert kappa_interval(1.0, 0.5, 10) == Interval(pytest.approx(2 * lower - 1), 1.0)  # type: ignore[arg-type]
    assert kappa_interval(0.0, 0.5, 1000).lower == -1.0


@pytest.mark.parametrize("value", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_the_area_lies_in_its_interval_and_is_mirrored(value: float) -> None:
    found, turned = auroc_interval(value, 12, 30), auroc_interval(1.0 - value, 12, 30)

    assert found.lower <= value <= found.upper
    assert found.width > 0.05
    assert found.lower == pytest.approx(1.0 - turned.upper)
    assert auroc_interval(value, 1200, 3000).width < found.width


def test_the_interval_of_a_large_area_covers_it() -> None:
    generator = Random(7)
    shift = 2.9045  # of two normal classes whose area under the curve is 0.98
    covered = 0
    for _ in range(400):
        scores = [generator.gauss(shift * (n < 15), 1.0) for n in range(30)]
        area = auroc(scores, [n < 15 for n in range(30)])
        assert area is not None
        covered += 0.98 in auroc_interval(area, 15, 15)

    assert covered >= 0.93 * 400
