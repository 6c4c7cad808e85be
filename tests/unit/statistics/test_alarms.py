"""Detectors, many streams and burn rates."""

from __future__ import annotations

import random
from itertools import accumulate
from math import comb, exp, lgamma

import pytest

from benchmarks.statistics_reference import e_bh
from rag_monitor.statistics.burn import burn_gate, max_burn_rate
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect
from rag_monitor.statistics.comparison import benjamini_hochberg
from rag_monitor.statistics.detectors import Detector, DetectorState, grid

P = (0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216)


def test_a_detector_of_one_bet_reproduces_the_published_run() -> None:
    x = (1, 1, 0, 1, 0, 0, 1, 0, 0, 0)
    detector = Detector(q=0.1, bets=(1.0,))
    states = accumulate(x, lambda s, v: detector.observe(s, 1 - v), initial=detector.start())

    values = [detector.value(state) for state in states][1:]

    assert values[:3] == pytest.approx([0.9, 1.71, 5.149])
    assert values[-1] == pytest.approx(175.8826962831)


def test_an_unjudged_trace_is_a_tick_without_evidence() -> None:
    detector = Detector(q=0.1)

    state = detector.skip(detector.start(), 5)

    assert detector.value(state) == pytest.approx(5.0)
    assert state.ticks == 5


def test_a_trace_judged_more_eagerly_weighs_less() -> None:
    detector = Detector(q=0.1)
    start = detector.start()

    sure = detector.observe(start, 1, pi=1.0, pi_min=0.1)
    rare = detector.observe(start, 1, pi=0.1, pi_min=0.1)

    assert detector.value(sure) < detector.value(rare)
    with pytest.raises(ValueError, match="pi_min"):
        detector.observe(start, 1, pi=0.05, pi_min=0.1)


def test_a_batch_of_one_is_a_single_observation() -> None:
    detector = Detector(q=0.1)
    state = DetectorState(values=(3.0,) * 6, ticks=4)

    single = detector.observe(state, 1, pi=0.5, pi_min=0.1)
    batch = detector.advance(state, detector.e_values({0.5: (1, 1)}, pi_min=0.1), 1)

    assert batch.values == pytest.approx(single.values)
    assert batch.ticks == single.ticks == 5


def test_a_batch_moves_by_its_ticks_when_nothing_was_judged() -> None:
    detector = Detector(q=0.1)

    start = detector.start()

    assert detector.advance(start, detector.e_values({}), 7) == detector.skip(start, 7)


def _beta_binomial(turns: int, bad: float, correlation: float) -> list[float]:
    """P(so many of the turns of a session are bad)."""
    rest = (1.0 - correlation) / correlation
    a, b = bad * rest, (1.0 - bad) * rest
    norm = lgamma(a) + lgamma(b) - lgamma(a + b)
    return [
        comb(turns, k) * exp(lgamma(k + a) + lgamma(turns - k + b) - lgamma(turns + a + b) - norm)
        for k in range(turns + 1)
    ]


@pytest.mark.parametrize("q", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("longest", [9, 40])
@pytest.mark.parametrize("correlation", [0.1, 0.5, 0.9])
def test_a_session_of_turns_that_are_alike_is_no_bet_with_an_advantage(
    q: float, longest: int, correlation: float
) -> None:
    """The expectation of what a whole session brings, at the null, by enumeration."""
    lengths = range(1, longest + 1)
    alike = sum(n * n for n in lengths) / sum(lengths)
    design = DesignEffect(1.0 + correlation * (alike - 1.0), alike=alike)
    detector = Detector(q=q)

    def expected(given: DesignEffect) -> list[float]:
        brought = [0.0] * len(detector.bets)
        for turns in lengths:
            for bad, chance in enumerate(_beta_binomial(turns, q, correlation)):
                e_values = detector.e_values({1.0: (turns, bad)}, design=given)
                for place, e_value in enumerate(e_values):
                    brought[place] += chance / longest * e_value
        return brought

    assert max(expected(design)) <= 1.0 + 1e-9
    assert min(expected(INDEPENDENT)) > 1.0


def test_turns_that_have_nothing_to_do_with_one_another_are_bet_on_in_full() -> None:
    detector = Detector(q=0.1)
    classes = {1.0: (9, 9)}

    full = detector.e_values(classes)
    apart = detector.e_values(classes, design=DesignEffect(0.9, alike=4.0))
    alone = detector.e_values(classes, design=DesignEffect(3.0, alike=1.0))
    alike = detector.e_values(classes, design=DesignEffect(3.0, alike=4.0))
    unsure = detector.e_values(classes, design=DesignEffect(3.0, degrees=2, alike=40.0))

    assert apart == alone == full
    assert all(1.0 < a < b for a, b in zip(alike, full, strict=True))
    assert all(1.0 < a < b for a, b in zip(unsure, alike, strict=True))


def test_a_steep_drop_is_found_soon_and_its_size_and_onset_are_told() -> None:
    detector = Detector(q=0.1)
    state = detector.start()
    for _ in range(300):
        state = detector.observe(state, 0)
    quiet = detector.value(state)
    needed = 0
    while detector.value(state) < 1000:
        state = detector.observe(state, 1)
        needed += 1

    assert quiet < 100
    assert needed < 12
    assert detector.strongest(state) == max(detector.bets)
    assert state.onset <= 301


def test_values_stay_finite_however_long_the_failure() -> None:
    detector = Detector(q=0.01)
    state = detector.start()
    for _ in range(2):
        state = detector.advance(state, detector.e_values({1.0: (100_000, 100_000)}), 100_000)

    assert detector.value(state) == 1e300


def test_false_alarms_come_no_more_often_than_promised() -> None:
    generator = random.Random(3)
    detector = Detector(q=0.1)
    lengths = []
    for _ in range(30):
        state = detector.start()
        while detector.value(state) < 100 and state.ticks < 2000:
            state = detector.observe(state, generator.random() < 0.1)
        lengths.append(state.ticks)

    assert sum(lengths) / len(lengths) >= 100


def test_impossible_bets_and_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="bets"):
        Detector(q=0.5, bets=(2.0,))
    with pytest.raises(ValueError, match="bad rate"):
        grid(1.0)


def test_e_bh_reproduces_the_published_example() -> None:
    found = e_bh((120, 35, 18, 4, 0.5), 0.1)

    assert found.scores_sorted == pytest.approx((24, 14, 10.8, 3.2, 0.5))
    assert (found.k, found.rejected) == (3, (0, 1, 2))
    assert e_bh((999.0,), 0.001).k == 0
    assert e_bh((1000.0,), 0.001).k == 1
    assert e_bh((), 0.1).k == 0
    with pytest.raises(ValueError, match="alpha"):
        e_bh((1.0,), 0.0)


def test_adjusted_p_values_agree_with_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    shuffled = list(P)
    random.Random(1).shuffle(shuffled)
    rejected, adjusted, *_ = multitest.multipletests(shuffled, 0.05, method="fdr_bh")
    found = benjamini_hochberg(shuffled)

    assert found.adjusted == pytest.approx(tuple(adjusted))
    assert found.rejected == tuple(rejected)
    assert sum(benjamini_hochberg(P).rejected) == 2


def test_a_tier_fires_on_the_bound_and_clears_with_the_short_window() -> None:
    firing = burn_gate(14, 40, 3, 8, slo=0.95, multiple=2.0)
    cleared = burn_gate(14, 40, 0, 8, slo=0.95, multiple=2.0)
    noise = burn_gate(6, 30, 2, 5, slo=0.95, multiple=2.0)
    few = burn_gate(9, 12, 3, 4, slo=0.95, multiple=2.0)
    nothing = burn_gate(0, 0, 0, 0, slo=0.95, multiple=2.0)

    assert firing.fires
    assert firing.lower_bound == pytest.approx(0.16752992656594048)
    assert [g.fires for g in (cleared, noise, few, nothing)] == [False] * 4


def test_the_usual_page_factor_cannot_be_reached_at_a_quality_objective() -> None:
    assert max_burn_rate(0.93) < 14.4 < max_burn_rate(0.95)
    with pytest.raises(ValueError, match="objective"):
        max_burn_rate(95)
