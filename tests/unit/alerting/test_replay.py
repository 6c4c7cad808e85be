"""A rule on stored history."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rag_monitor.alerting.replay import replay
from rag_monitor.domain.alert import RuleKind
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.testing import EPOCH
from tests.unit.alerting.fakes import FakeEstimates, estimate, rule


def test_a_replay_tells_how_often_the_rule_would_have_fired_and_how_often_it_was_blind() -> None:
    bad = [(30, 60), (120, 125), (200, 500)]

    def scores(series: Series, window: Window) -> Estimate:
        minute = (window.end - EPOCH) / timedelta(minutes=1)
        if minute < 10:
            return estimate(0.9, 3)
        return estimate(0.5 if any(a <= minute < b for a, b in bad) else 0.95)

    item = rule(RuleKind.THRESHOLD, metric="faithfulness", params={"below": 0.8}, hold_for_s=600.0)
    found = replay(item, FakeEstimates(scores=scores), EPOCH, EPOCH + timedelta(hours=4))

    assert (found.looks, found.untold) == (49, 2)
    assert [episode.fired_at for episode in found.episodes] == [
        EPOCH + timedelta(minutes=40),
        EPOCH + timedelta(minutes=210),
    ]
    assert found.episodes[0].resolved_at == EPOCH + timedelta(minutes=60)
    assert found.episodes[1].resolved_at is None


def test_looks_closer_than_a_minute_are_refused() -> None:
    with pytest.raises(ValueError, match="minute"):
        replay(rule(), FakeEstimates(), EPOCH, EPOCH, every=timedelta(seconds=15))


def test_an_alert_of_an_app_that_went_silent_ends_in_a_replay_as_it_does_live() -> None:
    def scores(series: Series, window: Window) -> Estimate:
        return estimate(0.5) if window.end < EPOCH + timedelta(hours=1) else estimate(None, 0)

    def sent(app: str, window: Window) -> dict[str, int]:
        return {"ok": 400} if window.start < EPOCH + timedelta(hours=1) else {}

    item = rule(RuleKind.THRESHOLD, metric="faithfulness", params={"below": 0.8})
    source = FakeEstimates(scores=scores, trace_counts=sent)
    found = replay(item, source, EPOCH, EPOCH + timedelta(hours=30), every=timedelta(minutes=10))

    (episode,) = found.episodes
    assert episode.resolved_at == EPOCH + timedelta(hours=25)
