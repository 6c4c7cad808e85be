"""The difference estimate where drawn traces have no verdict."""

from __future__ import annotations

import random

import pytest

from benchmarks.missing_verdicts import Draw, Tally, labels_of, simulate, sums_of
from rag_monitor.statistics.difference import RatioSums
from rag_monitor.statistics.moments import MeanEstimate, hajek_from_sums
from tests.unit.statistics.direct_ratio import Seen, direct_corrected, direct_ratio

SMALL = (
    Seen(0.9, 0.5, drawn=True, verdict=1.0),
    Seen(0.8, 0.5),
    Seen(0.6, 0.25, drawn=True, verdict=0.0),
    Seen(0.7, 0.25, drawn=True),
    Seen(0.2, 0.5, drawn=True, outside=True),
    Seen(0.4, 0.5),
)
"""Two verdicts, a failure, one to which the metric does not apply."""


def many(seed: int, count: int = 300) -> list[Seen]:
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        f, pi = draw.random(), draw.choice((0.2, 0.5, 1.0))
        if draw.random() >= pi:
            found.append(Seen(f, pi))
            continue
        kind = draw.random()
        if kind < 0.1:
            found.append(Seen(f, pi, drawn=True))
        elif kind < 0.4 - 0.3 * f:
            found.append(Seen(f, pi, drawn=True, outside=True))
        else:
            verdict = float(draw.random() < f)
            label = 1.0 - verdict if draw.random() < 0.1 else verdict
            label_or_none = label if draw.random() < 0.5 else None
            found.append(Seen(f, pi, drawn=True, verdict=verdict, label=label_or_none))
    return found


def draws(traces: list[Seen] | tuple[Seen, ...]) -> list[Draw]:
    return [
        Draw(
            t.f,
            t.pi,
            t.verdict,
            failed=t.verdict is None and not t.outside,
            label=t.label,
        )
        for t in traces
        if t.drawn
    ]


def sums(traces: list[Seen] | tuple[Seen, ...]) -> RatioSums:
    return sums_of([t.f for t in traces], draws(traces))[0]


def test_the_estimate_is_the_one_computed_by_hand() -> None:
    # F is .6. Weights 2 and 4 have the verdicts 1 and 0, weight 2 is outside the metric, so that
    # theta is 2 less lam times (2 * .3 + 4 * 0 + 2 * -.4), over 6.
    assert sums(SMALL).estimate(0.0).value == pytest.approx(2 / 6)
    assert sums(SMALL).estimate(1.0).value == pytest.approx((2 + 0.2) / 6)
    assert sums(SMALL).proxy_mean == pytest.approx(0.6)
    # Of the weight 8 that came back 6 is scored; the failed draw counts nowhere.
    assert sums(SMALL).answered == pytest.approx(8 / 6)
    # At lam 0: w = 2 * (1 - 1/3), 4 * (0 - 1/3), both 4/3; n/(n-1) = 2.
    assert sums(SMALL).estimate(0.0).se == pytest.approx((2 * 2 * (4 / 3) ** 2) ** 0.5 / 6)


@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sums_give_what_the_traces_give(seed: int, lam: float) -> None:
    traces = many(seed)

    found = sums(traces).estimate(lam)

    assert (found.value, found.se) == pytest.approx(direct_ratio(traces, lam))


def test_without_trust_in_the_cheap_score_it_is_the_hajek_mean() -> None:
    given = sums(many(4))
    hajek = hajek_from_sums(given.judged, given.r, given.rj, given.rr, given.rrj, given.rrjj)

    found = given.estimate(0.0)

    assert (found.value, found.se) == pytest.approx((hajek.value, hajek.se))


def test_the_tuning_makes_the_error_least() -> None:
    given = sums(many(5, 3000))
    lam = given.tuned_lam()

    assert 0.0 < lam < 1.0
    least = given.estimate(lam).se
    assert least < given.estimate(lam - 0.2).se
    assert least < given.estimate(lam + 0.2).se


def test_a_cheap_score_that_does_not_vary_changes_nothing() -> None:
    constant = [Seen(0.5, t.pi, t.drawn, t.verdict, t.outside) for t in many(6)]
    given = sums(constant)

    assert given.tuned_lam() == 1.0
    assert given.estimate(1.0).value == pytest.approx(given.estimate(0.0).value)
    assert given.estimate(1.0).se == pytest.approx(given.estimate(0.0).se)


def test_verdicts_that_all_agree_have_no_spread() -> None:
    agreed = [
        Seen(0.1, t.pi, t.drawn, None if t.verdict is None else 0.1, t.outside) for t in many(7)
    ]

    found = sums(agreed).estimate(0.0)

    assert found.value == pytest.approx(0.1)
    assert found.se == 0.0


def test_one_verdict_is_no_estimate() -> None:
    alone = sums(SMALL[:2])

    assert alone.tuned_lam() == 1.0
    with pytest.raises(ValueError, match="two verdicts"):
        alone.estimate()


@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_the_correction_by_people_knows_how_it_moves_with_the_judge(lam: float) -> None:
    traces = many(8, 600)
    given, labels = sums(traces), labels_of(draws(traces))
    judged = given.estimate(lam)
    bias, covariance = direct_corrected(traces, lam)

    found = labels.corrected(
        MeanEstimate(judged.value, judged.se),
        given.r,
        lam=lam,
        proxy_mean=given.proxy_mean,
        answered=given.answered,
    )

    assert found.value == pytest.approx(judged.value + bias)
    variance = judged.se**2 + labels.bias().se ** 2 + 2.0 * covariance
    assert found.se == pytest.approx(variance**0.5)


def test_intervals_cover_where_verdicts_are_missing_and_those_of_the_plain_mean_do_not() -> None:
    found: dict[str, tuple[Tally, Tally]] = simulate("suite", 0.09, 0.1, 0.3, 120)

    for ours, _ in found.values():
        assert ours.covered >= 0.88
        assert abs(ours.bias) < 0.006
    _, rival = found["0"]
    assert rival.covered < 0.5
    assert rival.bias < -0.1
