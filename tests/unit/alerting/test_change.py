"""Change rules: detectors that go on from look to look."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rag_monitor.aggregation.combine import BadCount
from rag_monitor.alerting.evaluator import Evaluator
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.domain.alert import Finding, RuleKind
from rag_monitor.domain.window import Window
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect
from rag_monitor.testing import EPOCH
from tests.unit.alerting.fakes import APP, FakeEstimates, rule

MINUTE = timedelta(minutes=1)
CHANGE = rule(
    RuleKind.CHANGE, metric="faithfulness", window_s=6 * 3600.0, params={"every_judged": 10_000}
)


class Minutes:
    """Ten judged traces a minute, none bad at first and six from a moment on."""

    def __init__(self) -> None:
        self.bad_from = EPOCH + timedelta(days=400)
        self.bad_until = EPOCH + timedelta(days=400)
        self.design = INDEPENDENT
        self.later: dict[datetime, tuple[int, int]] = {}
        """Judged and bad that came in late, by minute."""

    def __call__(self, window: Window) -> BadCount:
        judged = bad = 0
        minute = window.start
        while minute < window.end:
            more, worse = self.later.get(minute, (0, 0))
            judged += 10 + more
            bad += worse + (6 if self.bad_from <= minute < self.bad_until else 0)
            minute += MINUTE
        return BadCount(
            judge="judge",
            judged=judged,
            bad=bad,
            effective_judged=float(judged),
            effective_bad=float(bad),
            classes={1.0: (judged, bad)},
            design=self.design,
        )


def detector(found: Finding) -> float:
    """The value that is compared with A."""
    return float(found.notes[0].removeprefix("detector="))


def test_a_change_is_found_and_clears() -> None:
    minutes = Minutes()
    evaluator = Evaluator(FakeEstimates(counts=minutes), AlertOptions())
    assert evaluator.evaluate(CHANGE, APP, EPOCH).active is False

    minutes.bad_from = EPOCH
    minutes.bad_until = EPOCH + timedelta(minutes=10)
    fired = evaluator.evaluate(CHANGE, APP, EPOCH + timedelta(minutes=10))
    assert fired.active is True
    assert "one false alarm in at least 10,000 judged" in fired.summary
    assert fired.value == pytest.approx(0.4, abs=0.1)
    assert fired.worst_traces
    assert fired.onset_at is not None
    assert abs(fired.onset_at - EPOCH) <= timedelta(minutes=2)
    assert f"since {fired.onset_at:%Y-%m-%d %H:%M} UTC" in fired.summary

    assert evaluator.evaluate(CHANGE, APP, EPOCH + timedelta(hours=3)).active is False


def test_the_youngest_minute_counts_at_once_and_no_trace_counts_twice() -> None:
    minutes = Minutes()
    minutes.bad_from = EPOCH - 2 * MINUTE
    kept = Evaluator(FakeEstimates(counts=minutes), AlertOptions())
    for second in (0, 15, 30, 60):
        continued = kept.evaluate(CHANGE, APP, EPOCH + timedelta(seconds=second))

    fresh = Evaluator(FakeEstimates(counts=minutes), AlertOptions())
    restarted = fresh.evaluate(CHANGE, APP, EPOCH + MINUTE)
    assert continued.judged == restarted.judged
    assert detector(continued) == pytest.approx(detector(restarted), rel=1e-3)


def test_scores_that_come_late_are_bet_on_once() -> None:
    minutes = Minutes()
    estimates = FakeEstimates(counts=minutes)
    evaluator = Evaluator(estimates, AlertOptions())
    quiet = evaluator.evaluate(CHANGE, APP, EPOCH)

    minutes.later[EPOCH - 20 * MINUTE] = (5, 5)
    told = evaluator.evaluate(CHANGE, APP, EPOCH)
    again = evaluator.evaluate(CHANGE, APP, EPOCH)

    assert detector(told) > 5 * detector(quiet)
    assert told.baseline_judged == quiet.baseline_judged + 5
    assert (detector(again), again.baseline_judged) == (detector(told), told.baseline_judged)


def test_a_score_that_is_withdrawn_leaves_the_bet_that_was_made() -> None:
    minutes = Minutes()
    evaluator = Evaluator(FakeEstimates(counts=minutes), AlertOptions())
    minutes.later[EPOCH - 3 * MINUTE] = (5, 5)
    before = evaluator.evaluate(CHANGE, APP, EPOCH)

    minutes.later.clear()
    after = evaluator.evaluate(CHANGE, APP, EPOCH)

    assert detector(after) == detector(before)


def test_scores_of_a_minute_long_past_are_left_out() -> None:
    minutes = Minutes()
    evaluator = Evaluator(FakeEstimates(counts=minutes), AlertOptions())
    before = evaluator.evaluate(CHANGE, APP, EPOCH)

    minutes.later[EPOCH - timedelta(hours=2)] = (50, 50)

    assert detector(evaluator.evaluate(CHANGE, APP, EPOCH)) == detector(before)


def test_the_false_alarm_rate_may_be_stated_in_days() -> None:
    item = rule(RuleKind.CHANGE, metric="faithfulness", window_s=6 * 3600.0, params={"days": 30})
    found = Evaluator(FakeEstimates(counts=Minutes()), AlertOptions()).evaluate(item, APP, EPOCH)

    # 14,400 judged a day for 30 days.
    assert "alarm_at=4.32e+05" in found.notes


def test_turns_of_few_sessions_say_less_than_as_many_traces() -> None:
    """Ten traces a minute that hang together are worth two: the alarm takes longer, and comes."""

    def minutes_to_the_alarm(minutes: Minutes) -> int:
        minutes.bad_from = EPOCH
        evaluator = Evaluator(FakeEstimates(counts=minutes), AlertOptions())
        for number in range(200):
            if evaluator.evaluate(CHANGE, APP, EPOCH + number * MINUTE).active:
                return number
        raise AssertionError("no alarm")

    alone, hanging_together = Minutes(), Minutes()
    hanging_together.design = DesignEffect(5.0, alike=6.0)

    assert 1 <= minutes_to_the_alarm(alone) < minutes_to_the_alarm(hanging_together) < 60
