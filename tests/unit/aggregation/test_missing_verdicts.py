"""Drawn traces without a score: from traces and scores through rollups to the estimate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.totals import Totals, sum_of
from rag_monitor.domain.decision import PEOPLE
from rag_monitor.domain.rollup import Rollup, TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.statistics.difference import DifferenceSums, RatioSums
from rag_monitor.statistics.moments import hajek_from_sums
from rag_monitor.statistics.wilson import effective_wilson
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import BIG, EMBEDDED, LEXICAL, MemoryRollups, facts, value
from tests.unit.statistics.direct_ratio import Seen, direct_corrected, direct_ratio

HOUR = Window(EPOCH, EPOCH + timedelta(hours=1))
SERIES = Series(project="default", app="shop", metric="faithfulness", judge="combined")
UNSCORED = (ScoreStatus.FAILED, ScoreStatus.NOT_APPLICABLE, ScoreStatus.SUSPECT)


def traffic(
    count: int,
    *,
    seed: int = 1,
    failed: float = 0.0,
    outside: float = 0.0,
    status: ScoreStatus = ScoreStatus.NOT_APPLICABLE,
    useful: bool = True,
) -> tuple[list[TraceFacts], list[Seen]]:
    """A fifth of the answers is bad; a useful cheap score knows it roughly. Over an hour."""
    draw = random.Random(seed)
    found, seen = [], []
    for n in range(count):
        bad = draw.random() < 0.2
        f = draw.uniform(0.1, 0.6) if bad else draw.uniform(0.4, 0.95)
        if not useful:
            f = draw.uniform(0.1, 0.9)
        pi = 0.5 if f < 0.5 else 0.25
        scores, labels, probabilities = [value(f)], {}, {BIG.name: pi}
        trace = Seen(f, pi)
        if draw.random() < pi:
            if draw.random() < failed:
                scores.append(unscored(ScoreStatus.FAILED))
                trace = replace(trace, drawn=True)
            elif draw.random() < outside * 2.0 * f:
                scores.append(unscored(status))
                trace = replace(trace, drawn=True, outside=True)
            else:
                said = float(not bad or draw.random() < 0.1)
                scores.append(value(said, judge=BIG))
                trace = replace(trace, drawn=True, verdict=said)
                if draw.random() < 0.4:
                    probabilities[PEOPLE] = 0.4
                    labels["faithfulness"] = float(not bad)
                    trace = replace(trace, label=float(not bad))
        at = EPOCH + timedelta(minutes=n % 60)
        item = facts(*scores, at=at, app="shop", probabilities=probabilities)
        found.append(replace(item, labels=labels))
        seen.append(trace)
    return found, seen


def unscored(status: ScoreStatus) -> Score:
    return value(None, judge=BIG, status=status, reason="x")


def without_labels(found: Sequence[TraceFacts]) -> list[TraceFacts]:
    return [replace(item, labels={}) for item in found]


def hour_before(found: Sequence[TraceFacts]) -> list[TraceFacts]:
    return [
        replace(item, trace=replace(item.trace, started_at=item.trace.started_at - HOUR.length))
        for item in found
    ]


def look(rows: Sequence[Rollup]) -> Estimate:
    source = MemoryRollups([])
    source.rows = list(rows)
    return Estimates(source).estimate(SERIES, HOUR)


def totals(rows: Sequence[Rollup], judge: object) -> Totals:
    return sum_of(r for r in rows if r.key.metric == SERIES.metric and r.key.judge == str(judge))


def before_the_upgrade(row: Rollup) -> Rollup:
    """The row as it was written before the further sums were kept."""
    names = ("r", "rrf", "rff", "rrjf", "x", *(f"out_{n}" for n in ("r", "rr", "rf", "rrf")))
    gone = {keys.pair(name, str(EMBEDDED)) for name in (*names, "out_rff", "out_rrff")}
    kept = {k: v for k, v in row.moments.items() if k not in gone and k != keys.UNSCORED}
    return replace(row, moments=kept)


def test_failures_at_random_leave_the_estimate_at_the_truth() -> None:
    truth = 0.8 + 0.2 * 0.1
    now = without_labels(traffic(8000, failed=0.1, useful=False)[0])
    # The hour before says how little to trust a cheap score that knows nothing: the less it is
    # trusted, the more a missing verdict would have counted as 0.
    earlier = hour_before(without_labels(traffic(8000, seed=2, failed=0.1, useful=False)[0]))

    told = look(summarise([*earlier, *now]))

    assert told.failed > 200
    assert told.value == pytest.approx(truth, abs=0.025)
    assert told.lower is not None
    assert told.upper is not None
    assert told.lower < truth < told.upper
    assert told.upper - told.lower < 0.05
    assert told.effective > look(summarise(now)).effective


@pytest.mark.parametrize("status", [ScoreStatus.NOT_APPLICABLE, ScoreStatus.SUSPECT])
def test_the_estimate_is_the_ratio_form_over_the_traces(status: ScoreStatus) -> None:
    found, seen = traffic(1500, failed=0.1, outside=0.3, status=status)
    mean, se = direct_ratio(seen, 1.0)

    told = look(summarise(without_labels(found)))

    assert told.value == pytest.approx(mean)
    judged = sum(t.verdict is not None for t in seen)
    interval = effective_wilson(mean, se, judged)
    if status is ScoreStatus.NOT_APPLICABLE:
        assert (told.lower, told.upper) == pytest.approx((interval.lower, interval.upper))
    else:
        # Suspect traces are bad in the worst case: the lower bound says so.
        assert told.lower is not None
        assert told.lower < interval.lower
        assert told.upper == pytest.approx(interval.upper)


def test_people_correct_an_estimate_with_missing_verdicts() -> None:
    found, seen = traffic(3000, failed=0.15, outside=0.2)
    mean, se = direct_ratio(seen, 1.0)
    bias, covariance = direct_corrected(seen, 1.0)

    told = look(summarise(found))

    assert "corrected_by_people" in told.notes
    assert told.value == pytest.approx(mean + bias)
    assert told.judge_bias_se is not None
    variance = se**2 + told.judge_bias_se**2 + 2.0 * covariance
    interval = effective_wilson(mean + bias, variance**0.5, sum(t.label is not None for t in seen))
    assert (told.lower, told.upper) == pytest.approx((interval.lower, interval.upper))


def test_a_complete_window_of_older_rollups_keeps_its_form() -> None:
    rows = summarise(traffic(800)[0])
    older = [before_the_upgrade(row) for row in rows]
    sums, before = (
        totals(given, BIG).difference_sums(str(EMBEDDED), totals(given, EMBEDDED))
        for given in (rows, older)
    )

    assert isinstance(sums, RatioSums)
    assert isinstance(before, DifferenceSums)
    assert sums.n == before.n == 800
    now, then = look(rows), look(older)
    assert now.value == pytest.approx(then.value, abs=0.03)
    assert (now.upper or 0) - (now.lower or 0) == pytest.approx(
        (then.upper or 0) - (then.lower or 0), rel=0.2
    )


def test_draws_that_the_cheap_judge_has_not_scored_either_change_nothing() -> None:
    found = without_labels(traffic(800)[0])
    alone = [
        facts(unscored(status), at=EPOCH, app="shop", probabilities={BIG.name: 0.5})
        for status in (ScoreStatus.FAILED, ScoreStatus.NOT_APPLICABLE)
    ]
    other = facts(value(0.5, judge=LEXICAL), unscored(ScoreStatus.FAILED), at=EPOCH, app="shop")

    told = look(summarise([*found, *alone, other]))

    assert told.value == look(summarise(found)).value


def test_rollups_from_before_the_upgrade_are_left_to_hajek() -> None:
    found = without_labels(traffic(1500, failed=0.1, outside=0.2)[0])
    rows = summarise(found)
    big = totals(rows, BIG)
    hajek = hajek_from_sums(
        big.count,
        big.weight,
        big.weighted_total,
        big.weight_squares,
        big.moment(keys.W2_TOTAL),
        big.moment(keys.W2_SQUARES),
    )
    old = [before_the_upgrade(row) for row in rows]
    # One minute of old rows is enough, even one that holds nothing but a failure.
    mixed = [before_the_upgrade(r) if r.key.minute == EPOCH else r for r in rows]
    failure = facts(value(0.5), unscored(ScoreStatus.FAILED), at=EPOCH, app="shop")
    alone = [before_the_upgrade(r) for r in summarise([failure])]

    for given_rows in (old, mixed, [*rows, *alone]):
        assert look(given_rows).value == pytest.approx(hajek.value)
    assert look(rows).value != pytest.approx(hajek.value, abs=1e-6)


def test_one_scored_draw_among_failures_is_no_difference_estimate() -> None:
    found = [
        facts(
            value(0.6), value(1.0, judge=BIG), at=EPOCH, app="shop", probabilities={BIG.name: 0.5}
        )
    ]
    found += [
        facts(value(0.3), unscored(ScoreStatus.FAILED), app="shop", probabilities={BIG.name: 0.5})
        for _ in range(5)
    ]

    assert look(summarise(found)).value == 1.0


def test_the_tuning_is_that_of_the_form_the_window_has() -> None:
    now, seen = traffic(1500, failed=0.1, useful=False)
    before, _ = traffic(1500, seed=3, useful=False)
    shifted = hour_before(before)
    earlier = summarise(before)
    sums = totals(earlier, BIG).difference_sums(
        str(EMBEDDED), totals(earlier, EMBEDDED), ratio=True
    )
    assert isinstance(sums, RatioSums)
    assert sums.tuned_lam() < 0.2
    mean, _ = direct_ratio(seen, sums.tuned_lam())

    told = look(summarise(without_labels([*shifted, *now])))

    assert told.value == pytest.approx(mean)
    old = [before_the_upgrade(r) for r in summarise(without_labels(shifted))]
    told = look([*old, *summarise(without_labels(now))])
    assert told.value == pytest.approx(direct_ratio(seen, 1.0)[0])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.floats(0.0, 1.0),
            st.sampled_from((0.05, 0.3, 1.0)),
            st.one_of(st.none(), st.floats(0.0, 1.0), st.sampled_from(UNSCORED)),
        ),
        max_size=30,
    )
)
def test_minutes_add_up_to_the_whole(
    drawn: list[tuple[int, float, float, float | ScoreStatus | None]],
) -> None:
    # Three scored draws and a failure make sure that there is a ratio.
    drawn = [*drawn, *((n, 0.2 * n, 0.5, 0.3 * n) for n in range(3)), (1, 0.7, 0.5, UNSCORED[0])]
    apart, together = [], []
    for minute, f, pi, verdict in drawn:
        scores = [value(f)]
        if isinstance(verdict, ScoreStatus):
            scores.append(unscored(verdict))
        elif verdict is not None:
            scores.append(value(verdict, judge=BIG))
        for kept, at in ((apart, EPOCH + timedelta(minutes=minute)), (together, EPOCH)):
            kept.append(facts(*scores, at=at, app="shop", probabilities={BIG.name: pi}))

    by_minute, at_once = (
        totals(rows, BIG).difference_sums(str(EMBEDDED), totals(rows, EMBEDDED))
        for rows in (summarise(apart), summarise(together))
    )

    assert isinstance(by_minute, RatioSums)
    assert isinstance(at_once, RatioSums)
    for lam in (0.0, at_once.tuned_lam(), 1.0):
        one, other = by_minute.estimate(lam), at_once.estimate(lam)
        assert one.value == pytest.approx(other.value)
        assert one.se == pytest.approx(other.se, abs=1e-6)
    assert by_minute.tuned_lam() == pytest.approx(at_once.tuned_lam(), abs=1e-6)
