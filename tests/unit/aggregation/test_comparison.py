"""Two estimates held against each other: releases, windows, and who judged them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor.aggregation.comparison import BaselineKind, compare, on_one_judge
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import BIG, EMBEDDED, HOUR, LEXICAL, facts, over, series, value


def test_comparing_a_release_with_the_one_before_gives_points_and_an_interval() -> None:
    earlier = EPOCH - timedelta(hours=1)
    given = [facts(value(float(n % 20 > 0)), release="v41", at=earlier) for n in range(400)]
    given += [facts(value(float(n % 5 > 0)), release="v42") for n in range(400)]
    estimates = over(*given)

    now = estimates.estimate(series(release="v42"), HOUR)
    before = estimates.baseline(series(release="v42"), HOUR, BaselineKind.PREVIOUS_RELEASE)
    assert before is not None
    change = compare(now, before)

    assert before.series.release == "v41"
    assert before.value == pytest.approx(0.95)
    assert change.value == pytest.approx(-0.15)
    assert change.lower < -0.15 < change.upper < 0
    assert change.beyond_chance


def test_the_first_release_has_nothing_before_it() -> None:
    estimates = over(facts(value(0.9), release="v1"))

    assert estimates.baseline(series(), HOUR, BaselineKind.PREVIOUS_RELEASE) is None


def test_baselines_look_back_by_a_window_or_by_a_week() -> None:
    given = [facts(value(0.2), at=EPOCH - timedelta(minutes=30))]
    given += [facts(value(0.4), at=EPOCH - timedelta(days=7))]
    estimates = over(*given)

    last = estimates.baseline(series(), HOUR, BaselineKind.PREVIOUS_WINDOW)
    week = estimates.baseline(series(), HOUR, BaselineKind.LAST_WEEK)

    assert last is not None
    assert week is not None
    assert (last.value, week.value) == (0.2, 0.4)


def test_estimates_without_intervals_or_of_different_judges_are_not_tested() -> None:
    few = over(facts(value(0.9))).estimate(series(), HOUR)
    cheap = over(*(facts(value(0.9)) for _ in range(60))).estimate(series(), HOUR)
    dear = over(*(facts(value(0.5, judge=BIG)) for _ in range(60))).estimate(series(), HOUR)
    none = over().estimate(series(), HOUR)

    assert compare(few, cheap).notes == ("interval_withheld",)
    assert compare(cheap, dear).notes == ("different_judges",)
    assert compare(cheap, dear).value == pytest.approx(0.4)
    assert not compare(cheap, dear).beyond_chance
    assert compare(none, cheap).value is None


RECALIBRATED = replace(EMBEDDED, calibration="2")


@pytest.mark.parametrize("judge", [LEXICAL, BIG, RECALIBRATED])
def test_what_different_judges_say_is_not_compared(judge: JudgeIdentity) -> None:
    first = [facts(value(0.9), release="v1") for _ in range(60)]
    second = [facts(value(0.5, judge=judge), release="v2") for _ in range(60)]
    estimates = over(*first, *second)

    old, new = (estimates.estimate(series(release=name), HOUR) for name in ("v1", "v2"))
    change = compare(*on_one_judge(estimates, new, old))

    assert (old.rests_on, new.rests_on) == (str(EMBEDDED), str(judge))
    assert change.value == pytest.approx(-0.4)
    assert (change.lower, change.upper) == (None, None)
    assert change.notes == ("different_judges",)


def test_releases_with_other_judges_are_compared_on_the_scores_of_one_that_saw_both() -> None:
    first = [facts(value(float(n % 10 > 0)), release="v1") for n in range(100)]
    second = [
        facts(value(float(n % 10 > 0)), value(0.2, judge=BIG), release="v2") for n in range(100)
    ]
    estimates = over(*first, *second)

    old, new = (estimates.estimate(series(release=name), HOUR) for name in ("v1", "v2"))
    one, other = on_one_judge(estimates, new, old)
    change = compare(one, other)

    assert new.rests_on == str(BIG)
    assert {one.rests_on, other.rests_on} == {str(EMBEDDED)}
    assert "common_judge" in one.notes
    assert change.value == pytest.approx(0.0)
    assert change.lower is not None
    assert not change.beyond_chance


def test_too_few_scores_of_a_common_judge_do_not_help() -> None:
    first = [facts(value(0.9), release="v1") for _ in range(60)]
    second = [facts(value(0.5, judge=LEXICAL), release="v2") for _ in range(60)]
    second += [facts(value(0.5), release="v2") for _ in range(5)]
    estimates = over(*first, *second)

    pair = [estimates.estimate(series(release=name), HOUR) for name in ("v2", "v1")]

    assert compare(*on_one_judge(estimates, *pair)).notes == ("different_judges",)
