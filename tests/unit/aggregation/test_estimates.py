"""Estimates with intervals, from rollups held in memory."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor.aggregation.comparison import BaselineKind
from rag_monitor.aggregation.estimates import EstimateOptions, Estimates
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.trace import Expected, Timings
from rag_monitor.domain.window import Window
from rag_monitor.statistics.wilson import effective_wilson, wilson_interval
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import (
    BIG,
    EMBEDDED,
    HOUR,
    LEXICAL,
    MemoryRollups,
    facts,
    over,
    series,
    value,
)

MINUTE = timedelta(minutes=1)
EVERY = Selection(project="default", app="test-app", window=HOUR)


def test_hard_scores_on_every_trace_have_the_plain_wilson_interval() -> None:
    given = [facts(value(float(n < 90)), at=EPOCH + n % 60 * MINUTE) for n in range(100)]

    found = over(*given).estimate(series(), HOUR)

    plain = wilson_interval(90, 100)
    assert found.value == pytest.approx(0.9)
    assert (found.traces, found.judged) == (100, 100)
    # sd with n - 1 makes the effective size 99 instead of 100.
    assert found.effective == pytest.approx(99)
    assert found.lower == pytest.approx(plain.lower, abs=5e-4)
    assert found.upper == pytest.approx(plain.upper, abs=5e-4)


def test_soft_scores_that_vary_less_have_a_narrower_interval() -> None:
    soft = over(*(facts(value(0.8 + 0.1 * (n % 3))) for n in range(90))).estimate(series(), HOUR)
    hard = over(*(facts(value(float(n % 10 > 0))) for n in range(90))).estimate(series(), HOUR)

    assert soft.value == pytest.approx(hard.value)
    assert soft.effective == pytest.approx(4 * 90)
    assert soft.upper - soft.lower < hard.upper - hard.lower


def test_perfect_scores_still_have_a_lower_bound_below_one() -> None:
    found = over(*(facts(value(1.0)) for _ in range(60))).estimate(series(), HOUR)

    assert (found.value, found.upper) == (1.0, 1.0)
    assert found.lower == pytest.approx(wilson_interval(60, 60).lower)


def test_few_judged_traces_give_a_value_without_an_interval() -> None:
    estimates = over(*(facts(value(0.9)) for _ in range(49)))

    withheld = estimates.estimate(series(), HOUR)
    wanted = estimates.estimate(series(), HOUR, min_judged=20)

    assert withheld.value == pytest.approx(0.9)
    assert (withheld.lower, withheld.upper) == (None, None)
    assert "few_judged" in withheld.notes
    assert wanted.lower is not None
    assert "few_judged" not in wanted.notes


def test_nothing_scored_is_no_value() -> None:
    failed = facts(value(None, status=ScoreStatus.FAILED, reason="judge_timeout"))

    found = over(failed, facts()).estimate(series(), HOUR)

    assert found.value is None
    assert (found.traces, found.judged, found.failed) == (2, 0, 1)
    assert over().estimate(series(), HOUR).traces == 0


def test_suspect_traces_pull_the_lower_bound_but_not_the_value() -> None:
    clean = [facts(value(float(n < 90))) for n in range(100)]
    suspect = [facts(value(1.0, status=ScoreStatus.SUSPECT, reason="x")) for _ in range(10)]

    before = over(*clean).estimate(series(), HOUR)
    after = over(*clean, *suspect).estimate(series(), HOUR)

    assert after.value == before.value
    assert after.upper == before.upper
    assert after.suspect == 10
    assert after.lower == pytest.approx(wilson_interval(90, 110).lower, abs=2e-3)


def test_a_shed_judgement_makes_the_window_incomplete() -> None:
    shed = facts(value(None, status=ScoreStatus.FAILED, reason="budget_exhausted"))

    found = over(shed, *(facts(value(0.9)) for _ in range(60))).estimate(series(), HOUR)

    assert found.value == pytest.approx(0.9)
    assert found.lower is None
    assert "incomplete" in found.notes


def test_an_estimate_with_many_failures_says_so() -> None:
    failed = [facts(value(None, status=ScoreStatus.FAILED, reason="x")) for _ in range(10)]

    found = over(*failed, *(facts(value(0.9)) for _ in range(60))).estimate(series(), HOUR)

    assert "judge_failures" in found.notes
    assert found.failed == 10


def test_a_judge_that_always_fails_is_heard_of_beside_the_embedded_one() -> None:
    failed = value(None, judge=BIG, status=ScoreStatus.FAILED, reason="judge_unavailable")
    shed = value(None, judge=BIG, status=ScoreStatus.FAILED, reason="budget_exhausted")
    seen = [facts(value(0.9)) for _ in range(100)]

    broken = over(*seen, *(facts(value(0.9), failed) for _ in range(30)))
    spent = over(*seen, *(facts(value(0.9), shed) for _ in range(30)))

    outcomes = broken.outcomes(series(), HOUR)
    assert (outcomes.scored, outcomes.failed, outcomes.attempted) == (0, 30, 30)
    found = broken.estimate(series(), HOUR)
    assert is_embedded(found.rests_on)
    assert "judge_failures" in found.notes
    assert "judge_failures" not in spent.estimate(series(), HOUR).notes


def test_a_new_judge_that_fails_is_heard_of_while_the_old_one_has_scores() -> None:
    failed = value(None, judge=BIG, status=ScoreStatus.FAILED, reason="judge_unavailable")
    old = replace(BIG, model="older")

    found = over(
        *(facts(value(0.9), value(0.9, judge=old)) for _ in range(40)),
        *(facts(value(0.9), failed) for _ in range(20)),
    ).outcomes(series(), HOUR)

    assert (found.scored, found.failed) == (40, 20)


def test_the_embedded_judge_alone_is_combined_and_marked() -> None:
    found = over(*(facts(value(0.9)) for _ in range(60))).estimate(series(), HOUR)

    assert "embedded_uncorrected" in found.notes
    assert "few_positives" in found.notes


def test_variants_of_a_judge_are_never_mixed() -> None:
    given = [facts(value(0.9)) for _ in range(60)]
    given += [facts(value(0.1, judge=LEXICAL)) for _ in range(20)]

    found = over(*given).estimate(series(), HOUR)

    assert found.value == pytest.approx(0.9)
    assert found.judged == 60
    assert "several_judges" in found.notes
    assert over(*given).estimate(series(str(LEXICAL)), HOUR).value == pytest.approx(0.1)
    assert over(*given).judges(series(), HOUR) == [str(EMBEDDED), str(LEXICAL)]


def designed(n: int = 400) -> list[TraceFacts]:
    """Every trace has a cheap score; one in two or four has an expensive one."""
    given = []
    for i in range(n):
        probability = 0.5 if i % 2 else 0.25
        drawn = i % 4 == 1 or i % 8 == 0
        good = float(i % 5 != 0)
        scores = [value(0.7 * good + 0.2)]
        if drawn:
            scores.append(value(good, judge=BIG))
        given.append(facts(*scores, probabilities={BIG.name: probability} if drawn else {}))
    return given


def test_cheap_and_expensive_scores_combine_to_the_difference_estimate() -> None:
    given = designed()
    f = [fact.scores[0].value or 0.0 for fact in given]
    y = [fact.scores[1].value if len(fact.scores) > 1 else None for fact in given]
    weight = [0.0 if v is None else 2.0 if i % 2 else 4.0 for i, v in enumerate(y)]
    n, whole, mean = len(given), sum(weight), sum(f) / len(given)
    corrected = [r * ((v or 0.0) - (x - mean)) for r, v, x in zip(weight, y, f, strict=True)]
    theta = sum(corrected) / whole
    moves = [
        r * ((v or 0.0) - theta) - (r - whole / n) * (x - mean)
        for r, v, x in zip(weight, y, f, strict=True)
    ]
    drawn = sum(v is not None for v in y)
    se = math.sqrt(sum(w * w for w in moves) * drawn / (drawn - 1)) / whole
    interval = effective_wilson(theta, se, drawn)

    found = over(*given).estimate(series(), HOUR)

    assert found.value == pytest.approx(theta)
    assert found.lower == pytest.approx(interval.lower)
    assert found.upper == pytest.approx(interval.upper)
    assert (found.judged, found.traces) == (drawn, 400)
    assert "embedded_uncorrected" not in found.notes


@pytest.mark.parametrize(("said", "bound"), [(1.0, "upper"), (0.0, "lower")])
def test_where_every_judged_answer_is_alike_the_estimate_says_so(said: float, bound: str) -> None:
    """mean(D) moved with the draw: its interval missed what every judged answer was."""
    draw = random.Random(5)
    for _ in range(6):
        given = []
        for _ in range(3000):
            f, probability = draw.betavariate(8, 1), draw.choice((0.02, 0.05, 0.2))
            drawn = draw.random() < probability
            scores = [value(f), *([value(said, judge=BIG)] if drawn else [])]
            at = EPOCH - timedelta(minutes=30) if draw.random() < 0.5 else EPOCH
            given.append(facts(*scores, at=at, probabilities={BIG.name: probability}))

        found = over(*given).estimate(series(), HOUR)

        assert found.value == pytest.approx(said)
        assert getattr(found, bound) == pytest.approx(said)


def test_the_trust_in_the_cheap_score_comes_from_the_window_before() -> None:
    given = designed()
    useless = [
        facts(
            value(float(i % 2)),
            *([value(float(i % 4 < 2), judge=BIG)] if i % 8 < 4 else []),
            at=EPOCH - timedelta(minutes=30),
            probabilities={BIG.name: 0.5},
        )
        for i in range(200)
    ]

    alone = over(*given).estimate(series(), HOUR)
    after = over(*given, *useless).estimate(series(), HOUR)

    assert after.effective < alone.effective


def test_a_sample_without_cheap_scores_is_weighted() -> None:
    given = [
        facts(value(float(i % 2), judge=BIG), probabilities={BIG.name: 0.5 if i % 2 else 0.25})
        for i in range(100)
    ]

    found = over(*given).estimate(series(), HOUR)

    assert found.value == pytest.approx(50 * 2 / (50 * 2 + 50 * 4))
    assert found.lower < found.value < found.upper


def test_a_cheap_variant_that_scored_only_part_of_the_judged_traces_is_not_used() -> None:
    given = designed()
    given += [facts(value(1.0, judge=BIG), probabilities={BIG.name: 0.5}) for _ in range(10)]

    assert "cheap_incomplete" in over(*given).estimate(series(), HOUR).notes


def test_a_release_can_be_asked_for_alone() -> None:
    given = [facts(value(0.9), release="v1") for _ in range(60)]
    given += [facts(value(0.5), release="v2") for _ in range(60)]

    estimates = over(*given)

    assert estimates.estimate(series(release="v2"), HOUR).value == pytest.approx(0.5)
    assert estimates.estimate(series(), HOUR).value == pytest.approx(0.7)


def test_a_series_has_one_estimate_per_step() -> None:
    given = [facts(value(0.9), at=EPOCH + n * MINUTE) for n in range(10)]
    given += [facts(value(0.5), at=EPOCH + 20 * MINUTE)]

    found = over(*given).series(series(), HOUR, timedelta(minutes=25))

    assert [e.value for e in found] == [pytest.approx(9.5 / 11), None, None]
    assert [e.traces for e in found] == [11, 0, 0]
    assert found[-1].window.end == HOUR.end


def test_an_estimate_without_scores_rests_on_nobody() -> None:
    failed = facts(value(None, status=ScoreStatus.FAILED, reason="judge_unavailable"))

    assert over(failed).estimate(series(), HOUR).rests_on == ""
    assert over().estimate(series(), HOUR).rests_on == ""


def test_every_point_of_a_series_says_whose_it_is() -> None:
    given = [facts(value(0.9), at=EPOCH + n * MINUTE) for n in range(10)]
    given += [facts(value(0.5, judge=LEXICAL), at=EPOCH + 40 * MINUTE)]

    found = over(*given).series(series(), HOUR, timedelta(minutes=20))

    assert [point.rests_on for point in found] == [str(EMBEDDED), "", str(LEXICAL)]


def test_latency_percentiles_come_from_the_histogram() -> None:
    given = [facts(timings=Timings(end_to_end_ms=100.0 + n)) for n in range(50)]
    given += [facts(timings=Timings(end_to_end_ms=3000.0)) for _ in range(50)]

    found = over(*given).latency(EVERY, "end_to_end_ms")

    assert found.count == 100
    assert found.p50 == pytest.approx(1574.5, rel=0.025)
    assert found.p90 == pytest.approx(3000.0, rel=0.025)
    assert found.mean == pytest.approx((50 * 100 + 49 * 25 + 50 * 3000) / 100)
    assert sum(found.histogram) == 100
    assert over().latency(EVERY, "end_to_end_ms").p50 is None


def test_the_hit_rate_counts_minutes_in_which_nobody_hit() -> None:
    hit = Hit(kind=HitKind.WORKFLOW, name="refund")
    labels = Expected(workflow=("refund",))
    given = [facts(hits=(hit,), expected=labels)]
    given += [facts(at=EPOCH + n * MINUTE) for n in range(1, 4)]
    estimates = over(*given)

    everyone = estimates.hit_rate(EVERY, HitKind.WORKFLOW, "refund", "all")
    labelled = estimates.hit_rate(EVERY, HitKind.WORKFLOW, "refund", "expected")

    assert (everyone.value, everyone.judged) == (0.25, 4)
    assert everyone.lower == pytest.approx(wilson_interval(1, 4).lower)
    assert (labelled.value, labelled.judged, labelled.traces) == (1.0, 1, 4)
    assert estimates.hit_names(EVERY) == [(HitKind.WORKFLOW, "refund")]
    with pytest.raises(ValueError, match="basis"):
        estimates.hit_rate(EVERY, HitKind.WORKFLOW, "refund", "any")


def test_what_fails_or_finds_nothing_every_time_has_a_hit_rate_of_zero() -> None:
    down = Hit(kind=HitKind.PLUGIN, name="maps", ok=False)
    empty = Hit(kind=HitKind.KNOWLEDGE_BASE, name="loans", items=0)
    estimates = over(facts(hits=(down,)), facts(hits=(down, empty)))

    names = estimates.hit_names(EVERY)

    assert names == [(HitKind.KNOWLEDGE_BASE, "loans"), (HitKind.PLUGIN, "maps")]
    for kind, name in names:
        found = estimates.hit_rate(EVERY, kind, name, "all")
        assert (found.value, found.judged) == (0.0, 2)


def test_a_hit_rate_without_traces_has_no_value() -> None:
    found = over().hit_rate(EVERY, HitKind.PLUGIN, "x", "all")

    assert (found.value, found.lower) == (None, None)


def test_true_negatives_of_quiet_minutes_are_counted() -> None:
    hit = Hit(kind=HitKind.PLUGIN, name="maps")
    given = [facts(hits=(hit,), expected=Expected(plugin=("maps",)))]
    given += [facts(expected=Expected(plugin=()), at=EPOCH + n * MINUTE) for n in range(1, 4)]

    (row,) = over(*given).routing(EVERY)

    assert (row.tp, row.fp, row.tn, row.fn) == (1, 0, 3, 0)


def test_bad_counts_keep_the_sampling_probabilities_apart() -> None:
    given = [
        facts(value(0.5, judge=BIG), probabilities={BIG.name: 0.25}),
        facts(value(0.9, judge=BIG), probabilities={BIG.name: 0.25}),
        facts(value(0.9, judge=BIG), at=EPOCH + MINUTE),
        facts(value(0.1, judge=BIG), at=EPOCH + MINUTE),
    ]
    estimates = over(*given)

    whole = estimates.bad_count(series(), HOUR)
    parts = estimates.bad_counts(series(), Window(EPOCH, EPOCH + 3 * MINUTE), MINUTE)

    assert whole.classes == {0.25: (2, 1), 1.0: (2, 1)}
    assert (whole.judged, whole.bad) == (4, 2)
    assert whole.effective_judged == pytest.approx(100 / 34)
    assert whole.effective_bad == pytest.approx(50 / 34)
    assert [(start, count.judged) for start, count in parts] == [
        (EPOCH, 2),
        (EPOCH + MINUTE, 2),
        (EPOCH + 2 * MINUTE, 0),
    ]


def test_outcomes_tell_how_judging_went() -> None:
    given = [
        facts(value(0.9)),
        facts(value(0.5)),
        facts(value(None, status=ScoreStatus.FAILED, reason="budget_exhausted")),
        facts(value(0.9, status=ScoreStatus.SUSPECT, reason="x")),
        facts(value(None, status=ScoreStatus.NOT_APPLICABLE, reason="refusal")),
    ]

    found = over(*given).outcomes(series(), HOUR)

    assert (found.scored, found.failed, found.suspect, found.not_applicable) == (2, 1, 1, 1)
    assert (found.bad, found.shed, found.attempted) == (1, 1, 4)


def test_the_refusal_rate_is_bounded_from_above_by_suspects() -> None:
    given = [facts(value(0.0, metric="refusal_rate")) for _ in range(60)]
    given += [facts(value(0.0, metric="refusal_rate", status=ScoreStatus.SUSPECT))]

    found = over(*given).estimate(series(metric="refusal_rate"), HOUR)
    clean = over(*given[:60]).estimate(series(metric="refusal_rate"), HOUR)

    assert found.lower == clean.lower
    assert found.upper > clean.upper


def test_the_confidence_is_a_setting() -> None:
    rollups = MemoryRollups([facts(value(float(n % 10 > 0))) for n in range(100)])

    wide = Estimates(rollups, EstimateOptions(confidence=0.99)).estimate(series(), HOUR)
    usual = Estimates(rollups).estimate(series(), HOUR)

    assert wide.confidence == 0.99
    assert wide.upper - wide.lower > usual.upper - usual.lower


def test_a_step_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="step"):
        over().series(series(), HOUR, timedelta(0))


def drawn_from(*names: str, score: float, **fields: object) -> TraceFacts:
    hits = tuple(Hit(kind=HitKind.KNOWLEDGE_BASE, name=name, items=3) for name in names)
    return facts(value(score), hits=hits, **fields)


def test_a_knowledge_base_has_estimates_of_its_own_and_the_app_counts_each_trace_once() -> None:
    estimates = over(
        *(drawn_from("loans", score=0.9) for _ in range(60)),
        *(drawn_from("cards", "loans", score=0.5) for _ in range(60)),
        *(facts(value(0.1)) for _ in range(30)),
    )

    whole = estimates.estimate(series(), HOUR)
    loans = estimates.estimate(series(knowledge_base="loans"), HOUR)
    cards = estimates.estimate(series(knowledge_base="cards"), HOUR)

    assert (whole.traces, whole.judged) == (150, 150)
    assert whole.value == pytest.approx((60 * 0.9 + 60 * 0.5 + 30 * 0.1) / 150)
    assert (loans.traces, loans.judged, loans.value) == (120, 120, pytest.approx(0.7))
    assert (cards.traces, cards.judged, cards.value) == (60, 60, pytest.approx(0.5))
    assert cards.lower is not None
    assert estimates.knowledge_bases(EVERY) == ["cards", "loans"]
    assert {s.metric for s in estimates.judged_series(EVERY)} == {"faithfulness"}


def test_a_knowledge_base_that_gave_nothing_is_not_blamed() -> None:
    empty = Hit(kind=HitKind.KNOWLEDGE_BASE, name="loans", items=0)
    broken = Hit(kind=HitKind.KNOWLEDGE_BASE, name="loans", ok=False)
    estimates = over(facts(value(0.1), hits=(empty,)), facts(value(0.1), hits=(broken,)))

    found = estimates.estimate(series(knowledge_base="loans"), HOUR)

    assert (found.traces, found.value) == (0, None)
    assert estimates.knowledge_bases(EVERY) == []


def test_a_release_of_one_knowledge_base_is_compared_with_its_own_past() -> None:
    new = EPOCH + timedelta(hours=1)
    estimates = over(
        *(drawn_from("loans", score=0.9, release="v1") for _ in range(60)),
        *(drawn_from("cards", score=0.2, release="v1") for _ in range(60)),
        *(drawn_from("loans", score=0.6, release="v2", at=new) for _ in range(60)),
    )

    before = estimates.baseline(
        series(knowledge_base="loans", release="v2"),
        Window(new, new + timedelta(hours=1)),
        BaselineKind.PREVIOUS_RELEASE,
    )

    assert before is not None
    assert (before.value, before.judged) == (pytest.approx(0.9), 60)


def test_what_the_budget_left_out_is_counted() -> None:
    shed = facts(value(None, status=ScoreStatus.FAILED, reason="budget_exhausted"))
    timeout = facts(value(None, status=ScoreStatus.FAILED, reason="judge_timeout"))

    found = over(facts(value(0.9)), shed, shed, timeout).estimate(series(), HOUR)

    assert (found.failed, found.shed) == (3, 2)
