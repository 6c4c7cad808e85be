"""Stated probabilities against outcomes: bins of equal mass, and the figures of the rows."""

from __future__ import annotations

import random

import pytest

from rag_monitor.statistics.agreement import auroc
from rag_monitor.statistics.calibration import brier, ece_equal_mass
from rag_monitor.statistics.reliability import Reliability, ReliabilityTally


def tallied(rows: list[tuple[float, bool]]) -> Reliability:
    tally = ReliabilityTally()
    for probability, true in rows:
        tally.add(probability, true)
    found = tally.report()
    assert found is not None
    return found


def test_nothing_is_said_of_no_rows() -> None:
    assert ReliabilityTally().report() is None


def test_the_figures_are_those_of_the_rows_themselves() -> None:
    draw = random.Random(3)
    stated = [place / 1000 + 0.0005 for place in draw.sample(range(1000), 400)]
    rows = [(p, draw.random() < p) for p in stated]
    ps, ys = [p for p, _ in rows], [y for _, y in rows]

    found = tallied(rows)

    assert found.n == 400
    assert found.ece == pytest.approx(ece_equal_mass(ps, ys))
    assert found.brier == pytest.approx(brier(ps, ys))
    assert found.auroc == pytest.approx(auroc(ps, ys))


def test_every_point_rests_on_as_many_rows_and_says_how_sure_it_is() -> None:
    found = tallied([(place / 100, place % 3 == 0) for place in range(100)])

    assert [one.n for one in found.bins] == [10] * 10
    assert [one.stated for one in found.bins] == sorted(one.stated for one in found.bins)
    assert all(one.lower < one.observed < one.upper for one in found.bins)


def test_equal_probabilities_stay_together_whatever_came_of_them() -> None:
    found = tallied([(1.0, True)] * 60 + [(0.0, False)] * 25 + [(1.0, False)] * 15)

    assert [(one.stated, one.n) for one in found.bins] == [(0.0, 25), (1.0, 75)]
    assert found.bins[1].observed == pytest.approx(0.8)


def test_few_rows_make_few_bins() -> None:
    assert [one.n for one in tallied([(place / 7, True) for place in range(7)]).bins] == [7]
    assert tallied([(0.5, True)]).auroc is None
