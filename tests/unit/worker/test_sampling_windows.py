"""What the past hour teaches the sampler."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from rag_monitor.domain.decision import SamplingReason
from rag_monitor.domain.ports import BudgetState
from rag_monitor.domain.rollup import Rollup, RollupQuery
from rag_monitor.sampling.options import SamplingOptions
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from rag_monitor.worker.sampling_windows import SamplingWindows
from tests.unit.aggregation.memory import EMBEDDED, MemoryRollups, facts, value

MINUTE = timedelta(minutes=1)
BIG = "packed"


class Rollups(MemoryRollups):
    """Adds nothing up: rows of minutes are sums, too."""

    def load_sums(self, wanted: RollupQuery, step: timedelta | None = None) -> Sequence[Rollup]:
        return self.load(wanted)


class Catalogue:
    def projects(self) -> list[str]:
        return ["default"]

    def app_names(self, project: str) -> list[str]:
        return ["shop", "bank", "gone"]


def house(
    *, budget: BudgetState | None = None, minutes: int = 120
) -> tuple[Sampler, SamplingWindows, ManualClock]:
    """Two hours: one trace a minute of the shop, five of the bank, v2 in the second hour."""
    found = []
    for minute in range(minutes):
        release = "v1" if minute < 60 else "v2"
        for app, times in (("shop", 1), ("bank", 5)):
            found += [
                facts(
                    value(0.5 if app == "shop" else 0.98, judge=EMBEDDED),
                    at=EPOCH + minute * MINUTE,
                    app=app,
                    release=release if app == "bank" else "v1",
                )
            ] * times
    clock = ManualClock()
    clock.advance(minutes * MINUTE)
    sampler = Sampler(SamplingOptions(rate=0.05, min_per_window=30))
    windows = SamplingWindows(
        sampler,
        Rollups(found),
        Catalogue(),
        clock,
        None if budget is None else lambda project: budget,
    )
    return sampler, windows, clock


def test_a_quiet_app_gets_its_minimum_of_judged_traces() -> None:
    sampler, windows, _ = house()
    assert windows.refresh() == 1

    shop = sampler.decide(make_trace(app="shop", release="v1"), BIG)
    bank = sampler.decide(make_trace(app="bank", release="v1"), BIG)

    assert shop.probability == pytest.approx(30 / 60)
    assert bank.probability == pytest.approx(30 / 300)


def test_a_release_that_was_not_there_before_is_looked_at_more() -> None:
    sampler, windows, _ = house()
    windows.refresh()

    assert (
        sampler.decide(make_trace(app="bank", release="v2"), BIG).reason
        is SamplingReason.NEW_RELEASE
    )
    assert (
        sampler.decide(make_trace(app="shop", release="v1"), BIG).reason is SamplingReason.BASE_RATE
    )


def test_the_first_release_of_an_app_is_not_a_new_one() -> None:
    sampler, windows, _ = house(minutes=60)
    windows.refresh()

    found = sampler.decide(make_trace(app="bank", release="v1"), BIG)

    assert found.reason is SamplingReason.BASE_RATE


def test_uncertainty_is_measured_against_what_is_usual_for_the_app() -> None:
    sampler, windows, _ = house()
    cheap = {"faithfulness": 0.5}
    before = sampler.decide(make_trace(app="shop"), BIG, baseline_scores=cheap).probability
    windows.refresh()

    # Half is what all traces of the shop score: nothing special, so the mean rate.
    after = sampler.decide(make_trace(app="shop"), BIG, baseline_scores=cheap).probability

    assert before > 0.05
    assert after == pytest.approx(0.5, rel=0.05)


def test_a_budget_that_runs_low_lowers_the_next_window() -> None:
    full, windows, _ = house()
    windows.refresh()
    low, tight, _ = house(budget=BudgetState(remaining=0.0, exhausted=True))
    tight.refresh()
    trace = make_trace(app="shop", release="v1")

    found = low.decide(trace, BIG)

    assert found.reason is SamplingReason.BUDGET
    assert found.probability < full.decide(trace, BIG).probability


def test_within_an_hour_nothing_changes() -> None:
    _, windows, clock = house()
    assert windows.refresh() == 1

    clock.advance(59 * MINUTE)
    assert windows.refresh() == 0
    clock.advance(MINUTE)
    assert windows.refresh() == 1
