"""Traces of one session, from rollups to intervals."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor.aggregation.clusters import (
    bucket_of,
    cluster_of,
    label_influence,
    per_bucket,
    ratio_influence,
)
from rag_monitor.aggregation.combine import Choice, point_of
from rag_monitor.aggregation.dependence import design_of
from rag_monitor.aggregation.estimates import EstimateOptions, Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.totals import Totals, merged, sum_of, sums_by
from rag_monitor.domain.bucket_sums import BucketSums
from rag_monitor.domain.decision import PEOPLE
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.rollup import Rollup, RollupKey, TraceFacts
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.trace import Timings, TraceStatus
from rag_monitor.domain.window import Window
from rag_monitor.statistics.difference import RatioSums
from rag_monitor.testing import EPOCH, make_trace
from tests.unit.aggregation.memory import BIG, EMBEDDED, HOUR, MemoryRollups, facts, series, value
from tests.unit.statistics.direct_ratio import Seen, direct_ratio, influences

MINUTE = timedelta(minutes=1)
_KEY = RollupKey(project="default", app="test-app", metric="faithfulness", minute=EPOCH)
ALL = Selection(project="default", app="test-app", window=HOUR)


def _sessions(
    number: int, turns: int, *, bad_every: int = 4, named: bool = True, release: str | None = None
) -> list[TraceFacts]:
    """Sessions whose turns are a minute apart; in each the answers are all good or all bad."""
    return [
        facts(
            value(0.0 if session % bad_every == 0 else 1.0),
            at=EPOCH + (session % 40 + turn) * MINUTE,
            session_id=f"s-{session}" if named else None,
            release=release,
        )
        for session in range(number)
        for turn in range(turns)
    ]


def test_a_session_comes_before_a_user_and_a_trace_without_either_is_alone() -> None:
    both = make_trace(session_id="s", user_id="u")
    user, nobody = make_trace(user_id="u"), make_trace(session_id="", user_id="")

    assert cluster_of(both) != cluster_of(user)
    assert cluster_of(user) == cluster_of(make_trace(user_id="u"))
    assert cluster_of(nobody) is None
    assert bucket_of(both) == bucket_of(make_trace(session_id="s", user_id="another"))


def test_traces_without_session_and_user_leave_rollups_and_intervals_as_they_were() -> None:
    rows = summarise(_sessions(20, 5, named=False))

    assert not any(row.clusters for row in rows)
    found = Estimates(MemoryRollups(_sessions(20, 5, named=False))).estimate(series(), HOUR)
    assert found.design_effect == 1.0
    assert found.effective == pytest.approx(99)


def test_the_turns_of_a_session_fall_in_one_bucket_whatever_the_minute() -> None:
    rows = [row for row in summarise(_sessions(1, 5)) if row.key.metric == "faithfulness"]
    totals = sum_of(rows)

    assert len(rows) == 5
    assert sorted(per_bucket(totals, "r"))[-2:] == [0.0, 5.0]


def test_rollups_do_not_grow_with_the_number_of_sessions() -> None:
    many = [
        facts(value(1.0), session_id=f"s-{number}") for number in range(2000)
    ]  # all in one minute
    row = next(row for row in summarise(many) if row.key.metric == "faithfulness")

    assert {len(sums) for sums in row.clusters.values()} == {64}
    assert sum(per_bucket(sum_of([row]), "r")) == 2000.0


def test_sums_per_bucket_are_added_up_only_for_whoever_looks_at_them() -> None:
    looked: list[str] = []

    def row(name: str, share: float) -> Rollup:
        def sums() -> dict[str, list[float]]:
            looked.append(name)
            return {"r": [share] * 64}

        return replace(Totals(count=1).rollup(_KEY), clusters=BucketSums(sums))

    rows = [row("first", 1.0), row("second", 2.0)]
    (whole,) = merged(rows)
    totals = sum_of([whole, row("third", 4.0)])

    assert totals.count == 3
    assert looked == []
    assert list(per_bucket(totals, "r")) == [7.0] * 64
    assert list(per_bucket(totals, "y")) == [0.0] * 64
    assert looked == ["first", "second", "third"]
    assert list(rows[0].clusters["r"]) == [1.0] * 64


def test_what_is_added_later_changes_neither_a_row_nor_sums_that_were_read() -> None:
    totals = Totals()
    totals.add_to_bucket("r", 3, 1.0)
    before, row = totals.clusters, totals.rollup(_KEY)
    totals.add_to_bucket("r", 3, 1.0)
    totals.add(row)

    assert before["r"][3] == row.clusters["r"][3] == 1.0
    assert totals.clusters["r"][3] == 3.0


def test_an_interval_counts_sessions_that_stand_or_fall_together_once() -> None:
    one = Estimates(MemoryRollups(_sessions(40, 5))).estimate(series(), HOUR)
    apart = Estimates(MemoryRollups(_sessions(40, 5, named=False))).estimate(series(), HOUR)

    assert one.value == apart.value
    assert one.design_effect == pytest.approx(5.0, rel=0.35)
    assert one.effective == pytest.approx(40.0, rel=0.35)
    assert one.lower is not None
    assert one.upper is not None
    assert apart.lower is not None
    assert apart.upper is not None
    assert one.upper - one.lower > 1.7 * (apart.upper - apart.lower)


def test_users_stand_in_where_no_session_is_known() -> None:
    given = [
        facts(value(float(user % 4 > 0)), at=EPOCH + turn * MINUTE, user_id=f"u-{user}")
        for user in range(40)
        for turn in range(5)
    ]

    assert Estimates(MemoryRollups(given)).estimate(series(), HOUR).design_effect > 3.0


def test_a_window_with_a_few_sessions_learns_from_the_day_before() -> None:
    earlier = _sessions(200, 5)
    now = Window(EPOCH + timedelta(hours=2), EPOCH + timedelta(hours=3))
    window = [
        facts(value(1.0), at=now.start + turn * MINUTE, session_id=f"now-{session}")
        for session in range(12)
        for turn in range(5)
    ]
    told = Estimates(MemoryRollups([*earlier, *window])).estimate(series(), now)
    alone = Estimates(
        MemoryRollups([*earlier, *window]), EstimateOptions(dependence=timedelta(hours=1))
    ).estimate(series(), now)

    assert told.value == 1.0
    assert told.degrees > alone.degrees
    assert told.effective == pytest.approx(12.0, rel=0.5)


def test_a_new_release_learns_from_all_releases() -> None:
    given = [*_sessions(200, 5, release="1"), *_sessions(12, 5, release="2")]

    found = Estimates(MemoryRollups(given)).estimate(series(release="2"), HOUR)
    assert found.judged == 60
    assert found.degrees > 30


def test_few_sessions_are_said() -> None:
    few = Estimates(MemoryRollups(_sessions(3, 30, bad_every=2))).estimate(series(), HOUR)
    many = Estimates(MemoryRollups(_sessions(40, 5))).estimate(series(), HOUR)

    assert "few_sessions" in few.notes
    assert few.lower is not None
    assert few.upper is not None
    assert few.upper - few.lower > 0.8
    assert "few_sessions" not in many.notes


def test_a_single_session_is_worth_one_trace() -> None:
    one = [
        facts(value(float(turn % 7 > 0)), at=EPOCH + turn % 60 * MINUTE, session_id="s")
        for turn in range(90)
    ]

    found = Estimates(MemoryRollups(one)).estimate(series(), HOUR)

    assert "few_sessions" in found.notes
    assert found.effective == pytest.approx(1.0, abs=0.1)
    assert found.lower is not None
    assert found.upper is not None
    assert found.upper - found.lower > 0.9


def test_steps_of_a_chart_count_sessions_as_the_whole_does() -> None:
    given = _sessions(200, 5)
    source = Estimates(MemoryRollups(given))
    steps = source.series(series(), HOUR, timedelta(minutes=20))

    assert len(steps) == 3
    assert all(step.design_effect > 2.5 for step in steps)


def _sampled(lam_matters: bool) -> tuple[list[TraceFacts], list[Seen]]:
    """Sessions that a judge sees a part of, beside the embedded one on all."""
    rng = random.Random(11)
    given, seen = [], []
    for session in range(60):
        good = rng.random() < 0.8
        for turn in range(rng.randint(1, 6)):
            f = min(1.0, max(0.0, rng.gauss(0.7 if good else 0.4, 0.1)))
            scores = [value(f)]
            drawn, outside = rng.random() < 0.5, lam_matters and rng.random() < 0.2
            verdict = None if outside else float(good)
            if drawn:
                status = ScoreStatus.NOT_APPLICABLE if outside else ScoreStatus.SCORED
                scores.append(value(verdict, judge=BIG, status=status))
            given.append(
                facts(
                    *scores,
                    at=EPOCH + (session % 50 + turn) * MINUTE,
                    session_id=f"s-{session}",
                    probabilities={BIG.name: 0.5},
                )
            )
            seen.append(Seen(f=f, pi=0.5, drawn=drawn, verdict=verdict, outside=outside))
    return given, seen


def _choice(given: list[TraceFacts]) -> Choice:
    rows = [row for row in summarise(given) if row.key.metric == "faithfulness"]
    by_judge = sums_by(rows, lambda row: row.key.judge)
    return Choice(
        judge=str(BIG),
        totals=by_judge[str(BIG)],
        proxy=str(EMBEDDED),
        proxy_totals=by_judge[str(EMBEDDED)],
    )


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("lam", [0.0, 0.6, 1.0])
def test_what_a_bucket_adds_is_what_its_traces_add(lam: float, outside: bool) -> None:
    given, seen = _sampled(outside)
    choice = _choice(given)
    point = point_of(choice, lam)
    theta, se = direct_ratio(seen, lam)
    weight = sum(one.a for one in seen)
    by_hand: dict[int, float] = defaultdict(float)
    for fact, moved in zip(given, influences(seen, theta, lam), strict=True):
        by_hand[bucket_of(fact.trace)] += moved / weight

    assert isinstance(point.sums, RatioSums)
    assert point.mean.value == pytest.approx(theta)
    assert point.mean.se == pytest.approx(se)
    found = ratio_influence(
        choice.totals, str(EMBEDDED), choice.proxy_totals or Totals(), point.sums, theta, lam
    )
    assert found == pytest.approx([by_hand[bucket] for bucket in range(64)], abs=1e-12)


def test_a_sampled_judge_beside_a_proxy_has_a_design_effect() -> None:
    choice = _choice(_sampled(lam_matters=True)[0])

    assert design_of(choice, choice, lam=0.6).value > 1.3


def test_labels_of_people_are_clustered_too() -> None:
    rng = random.Random(3)
    given = []
    for session in range(80):
        wrong = rng.random() < 0.3  # the judge errs on whole sessions
        for turn in range(4):
            fact = facts(
                value(1.0, judge=BIG),
                at=EPOCH + (session % 50 + turn) * MINUTE,
                session_id=f"s-{session}",
                probabilities={BIG.name: 1.0, PEOPLE: 1.0},
            )
            given.append(
                TraceFacts(
                    trace=fact.trace,
                    scores=fact.scores,
                    probabilities=fact.probabilities,
                    labels={"faithfulness": 0.0 if wrong else 1.0},
                )
            )
    rows = [row for row in summarise(given) if row.key.metric == "faithfulness"]
    choice = Choice(judge=str(BIG), totals=sum_of(rows))
    labels = choice.totals.label_sums()

    assert sum(label_influence(choice.totals, labels)) == pytest.approx(0.0, abs=1e-12)
    assert design_of(choice, choice, min_labelled=50).value == pytest.approx(4.0, rel=0.4)


def test_hit_rates_errors_latencies_and_burn_rates_count_sessions() -> None:
    given = []
    for session in range(48):
        bad = session % 4 == 0
        for turn in range(5):
            fact = facts(value(0.0 if bad else 1.0), at=EPOCH + (session + turn) * MINUTE)
            trace = make_trace(
                started_at=fact.trace.started_at,
                session_id=f"s-{session}",
                status=TraceStatus.ERROR if bad else TraceStatus.OK,
                hits=() if bad else (Hit(kind=HitKind.PLUGIN, name="search"),),
                timings=Timings(end_to_end_ms=5000.0 if bad else 500.0 + session),
            )
            given.append(TraceFacts(trace=trace, scores=fact.scores))
    source = Estimates(MemoryRollups(given))

    hits = source.hit_rate(ALL, HitKind.PLUGIN, "search", "all")
    errors = source.status_share(ALL, TraceStatus.ERROR)
    slow = source.latency(ALL, "end_to_end_ms")
    burning = source.bad_count(series(), HOUR)

    assert hits.value == 0.75
    assert errors.value == 0.25
    assert errors.traces == 240
    assert hits.design_effect > 3.0
    assert hits.design_effect == pytest.approx(errors.design_effect)
    assert slow.design.value > 3.0
    assert burning.judged == 240
    assert burning.effective_judged < 240 / 3
    assert burning.worth(0.998)[1] < burning.effective_judged
    assert burning.worth(0.998)[0] / burning.worth(0.998)[1] == pytest.approx(0.25)
    lower, upper = slow.interval(0.5)
    assert lower is not None
    assert upper is not None
    assert lower < 520.0 < upper


def test_a_quantile_of_few_sessions_has_no_upper_end() -> None:
    def of(named: bool) -> Estimates:
        return Estimates(
            MemoryRollups(
                [
                    TraceFacts(
                        trace=make_trace(
                            started_at=EPOCH + turn * MINUTE,
                            session_id=f"s-{session}" if named else None,
                            timings=Timings(end_to_end_ms=100.0 * (session + 1)),
                        )
                    )
                    for session in range(10)
                    for turn in range(5)
                ]
            )
        )

    assert of(named=False).latency(ALL, "end_to_end_ms").interval(0.9).upper is not None
    assert of(named=True).latency(ALL, "end_to_end_ms").interval(0.9).upper is None
