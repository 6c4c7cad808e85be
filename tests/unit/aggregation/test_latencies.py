"""Percentiles of latencies from rollups, against those of the single values."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import timedelta

import numpy
import pytest

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.latencies import ACCURACY, LatencySummary, fine_bucket
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.trace import Timings
from rag_monitor.domain.window import Window
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import MemoryRollups, facts

HOUR = Window(EPOCH, EPOCH + timedelta(hours=1))
EVERY = Selection(project="default", app="shop", window=HOUR)


def source(values: list[float]) -> MemoryRollups:
    return MemoryRollups(
        [
            facts(
                at=EPOCH + timedelta(minutes=number % 60),
                app="shop",
                timings=Timings(end_to_end_ms=value),
            )
            for number, value in enumerate(values)
        ]
    )


def look(rollups: MemoryRollups) -> LatencySummary:
    return Estimates(rollups).latency(EVERY, "end_to_end_ms")


@pytest.mark.parametrize("count", [1, 3, 10, 50, 1000])
@pytest.mark.parametrize("shape", ["steady", "long tail"])
def test_percentiles_are_within_the_stated_accuracy_at_any_count(count: int, shape: str) -> None:
    draw = random.Random(count)
    values = [
        draw.uniform(900, 1100) if shape == "steady" else draw.lognormvariate(7, 1.2)
        for _ in range(count)
    ]

    told = look(source(values))

    for share, value in ((0.5, told.p50), (0.9, told.p90), (0.99, told.p99)):
        exact = float(numpy.quantile(values, share))
        assert value == pytest.approx(exact, rel=ACCURACY + 1e-9)


@pytest.mark.parametrize("value", [0.4, 37.0, 2000.0, 86_400_000.0])
def test_the_interval_of_latencies_that_are_all_alike_is_their_bucket(value: float) -> None:
    lower, upper = look(source([value] * 40)).interval(0.9)

    assert lower is not None
    assert upper is not None
    assert lower <= value <= upper
    assert upper / lower < 1.0 + 2.1 * ACCURACY


def test_a_high_percentile_of_few_traces_has_no_upper_end() -> None:
    told = look(source([100.0 + n for n in range(20)]))

    assert told.interval(0.99).upper is None
    assert told.interval(0.99).lower == pytest.approx(115, rel=3 * ACCURACY)
    assert told.interval(0.5).upper == pytest.approx(114, rel=3 * ACCURACY)
    assert look(source([100.0] * 3)).interval(0.5) == (None, None)
    assert look(source([])).interval(0.5) == (None, None)


def test_the_interval_of_a_percentile_holds_the_truth_as_often_as_it_says() -> None:
    draw = random.Random(11)
    truth = math.exp(2.3263478740408408)  # the p99 of a standard log-normal
    held = 0
    for _ in range(300):
        fine: dict[int, int] = {}
        for _ in range(40):
            index = fine_bucket(draw.lognormvariate(0.0, 1.0))
            fine[index] = fine.get(index, 0) + 1
        lower, upper = LatencySummary(count=40, fine=fine).interval(0.99)
        held += (lower is None or lower <= truth) and (upper is None or truth <= upper)

    assert held / 300 >= 0.95


def test_the_interval_from_wide_buckets_ends_where_the_open_one_begins() -> None:
    counts = (0,) * 7 + (600,) + (0,) * 6 + (400,)
    told = LatencySummary(count=1000, histogram=counts)

    assert told.interval(0.5).lower == pytest.approx(640 + 640 * 469 / 600, rel=0.01)
    assert told.interval(0.9) == (81_920.0, None)


def test_extreme_values_have_a_place() -> None:
    told = look(source([0.0, 1e9]))

    assert told.p50 is not None
    assert told.quantile(1.0) == pytest.approx(1e9, rel=ACCURACY)
    assert told.quantile(0.0) == pytest.approx(0.01, rel=ACCURACY)


def test_rollups_from_before_the_narrow_buckets_are_read_from_the_wide_ones() -> None:
    old = source([1000.0] * 40)
    old.rows = [replace(row, moments={}) for row in old.rows]
    new = source([1000.0] * 40)

    # 1 s lies between the bounds 0.64 s and 1.28 s; the middle is told.
    assert look(old).p50 == pytest.approx(960.0)
    assert look(new).p50 == pytest.approx(1000.0, rel=ACCURACY)

    new.rows = [*new.rows[:10], *old.rows[10:]]
    assert look(new).p50 == pytest.approx(960.0)


def test_imported_history_is_not_live_traffic() -> None:
    soon, late = EPOCH + timedelta(seconds=20), EPOCH + timedelta(days=3)
    found = [
        replace(facts(at=EPOCH, app="shop"), received_at=moment)
        for moment in (None, soon, soon, late)
    ]
    estimates = Estimates(MemoryRollups(found))

    assert sum(estimates.live_by_step(EVERY, EVERY.window.end - EVERY.window.start)) == 3
    assert sum(estimates.traces(EVERY).values()) == 4
