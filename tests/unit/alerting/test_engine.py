"""One run over all rules and apps: states, messages and failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from rag_monitor import telemetry
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.evaluator import slot
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.domain.alert import AlertRule, AlertState, RuleKind, Silence
from rag_monitor.domain.window import Window
from rag_monitor.errors import LeaseLost
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.alerting.fakes import FakeAlerts, FakeEstimates, FakeRules, FakeSilences, rule


class _House:
    """An engine with everything it needs, and apps that send or are silent."""

    def __init__(self, clock: ManualClock, *rules: AlertRule) -> None:
        self.clock = clock
        self.silent: set[str] = set()
        self.estimates = FakeEstimates(names=["a", "b"], trace_counts=self._traces)
        self.rules = FakeRules(list(rules) or [rule(window_s=60.0)])
        self.alerts = FakeAlerts()
        self.silences = FakeSilences()
        self.engine = self.another()

    def another(self, **kwargs: object) -> AlertEngine:
        return AlertEngine(
            self.estimates,
            self.rules,
            self.alerts,
            self.clock,
            AlertOptions(slot_s=15.0, forget_s=3600.0, resolved_for_s=600.0),
            silences=self.silences,
            channels=("ops", "log"),
            **kwargs,  # type: ignore[arg-type]
        )

    def _traces(self, app: str, window: Window) -> Mapping[str, int]:
        # Silent now, but not for ever: the no-data rule forgets what was silent for a week.
        return {} if app in self.silent and window.length < timedelta(hours=2) else {"ok": 3}

    def tick(self, seconds: float = 15.0) -> list[str | None]:
        self.clock.advance(seconds)
        return [None if t.event is None else t.event.value for t in self.engine.run()]

    def states(self) -> dict[str, str]:
        return {alert.app: alert.state.value for alert in self.alerts.alerts.values()}


@pytest.fixture
def house(clock: ManualClock) -> _House:
    return _House(clock)


def test_every_app_has_its_own_alert_and_every_channel_its_message(house: _House) -> None:
    house.silent = {"b"}

    assert house.tick() == ["firing"]

    assert house.states() == {"b": "firing"}
    assert [key[1] for key in house.alerts.queued] == ["ops", "log"]
    assert house.alerts.saves == 1


def test_a_rule_sends_to_its_own_channels(clock: ManualClock) -> None:
    house = _House(clock, rule(notifiers=("log",)))
    house.silent = {"a"}
    house.tick()

    assert [key[1] for key in house.alerts.queued] == ["log"]


@pytest.mark.parametrize(
    ("named", "heard"), [(("pager",), ["ops", "log"]), (("pager", "log"), ["log"])]
)
def test_a_channel_that_was_renamed_does_not_cost_the_alert(
    clock: ManualClock, caplog: pytest.LogCaptureFixture, named: tuple[str, ...], heard: list[str]
) -> None:
    house = _House(clock, rule(notifiers=named))
    house.silent = {"a"}
    house.tick()
    first = [key[1] for key in house.alerts.queued]
    house.silent = set()
    house.tick()

    assert first == heard
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == 1
    assert f"not configured (pager): its messages go to {', '.join(heard)}" in told[0]


def test_nothing_to_say_saves_nothing(house: _House) -> None:
    assert house.tick() == []
    assert house.alerts.saves == 0


def test_it_fires_and_resolves(house: _House) -> None:
    house.silent = {"a"}
    house.tick()
    house.silent = set()

    assert house.tick() == ["resolved"]
    assert house.states() == {"a": "resolved"}

    house.tick(601)
    assert house.states() == {"a": "inactive"}


@pytest.mark.parametrize("ahead", [timedelta(days=2), timedelta(minutes=20)])
def test_an_alert_of_a_clock_that_was_ahead_ends_when_it_is_set_back(
    house: _House, ahead: timedelta
) -> None:
    right = house.clock.now()
    house.clock.set(right + ahead)
    house.silent = {"a"}
    assert house.tick() == ["firing"]

    house.clock.set(right)
    house.silent = set()
    said = house.tick() + house.tick()
    assert said == ["resolved"]
    (alert,) = house.alerts.alerts.values()
    assert alert.resolved_at is not None
    assert alert.started_at < alert.resolved_at <= house.clock.now()
    house.tick(601)
    assert house.states() == {"a": "inactive"}


def test_windows_end_at_slots(house: _House) -> None:
    house.rules.rules = [rule(RuleKind.THRESHOLD, metric="faithfulness", params={"below": 0.5})]
    house.clock.advance(7.3)
    house.engine.run()

    assert {window.end for window in house.estimates.attempted} == {EPOCH}
    assert slot(EPOCH + timedelta(seconds=16), 15.0) == EPOCH + timedelta(seconds=15)


def test_two_schedulers_say_the_same_once(house: _House) -> None:
    other = house.another()
    house.silent = {"a", "b"}
    for _ in range(20):
        house.clock.advance(15)
        house.engine.run()
        house.clock.advance(3)
        other.run()
        house.clock.advance(12)

    assert sorted(house.alerts.events) == ["firing"] * 4
    assert len(house.alerts.alerts) == 2


def test_two_schedulers_that_do_not_see_each_others_work_use_the_same_keys(
    clock: ManualClock,
) -> None:
    first, second = _House(clock), _House(clock)
    first.silent = second.silent = {"a"}
    clock.advance(15)
    first.engine.run()
    clock.advance(4)
    second.engine.run()

    assert first.alerts.queued.keys() == second.alerts.queued.keys()


def test_who_lost_the_lead_saves_nothing(house: _House) -> None:
    def lost() -> None:
        raise LeaseLost

    house.silent = {"a"}
    with pytest.raises(LeaseLost):
        house.another(before_save=lost).run()

    assert house.alerts.saves == 0


def test_a_rule_that_fails_is_counted_and_the_others_go_on(
    house: _House, caplog: pytest.LogCaptureFixture
) -> None:
    broken = rule(RuleKind.THRESHOLD, name="broken", metric="faithfulness", params={"below": 0.5})
    house.rules.rules.insert(0, broken)

    def fail(series: object, window: object) -> object:
        raise RuntimeError("no such table")

    house.estimates.scores = fail  # type: ignore[assignment]
    house.silent = {"a"}
    before = telemetry.JOB_FAILURES.labels(job="rule")._value.get()

    assert house.tick() == ["firing"]

    assert telemetry.JOB_FAILURES.labels(job="rule")._value.get() == before + 2
    assert "rule 'broken' of project 'default' failed" in caplog.text


def test_an_alert_stands_while_its_rule_fails(house: _House) -> None:
    house.silent = {"a"}
    house.tick()

    def fail(app: str, window: Window) -> Mapping[str, int]:
        raise RuntimeError("no such table")

    house.estimates.trace_counts = fail
    house.tick()

    assert house.states() == {"a": "firing"}


@pytest.mark.parametrize("how", ["removed", "disabled"])
def test_an_alert_without_a_rule_ends_and_says_why(house: _House, how: str) -> None:
    house.silent = {"a"}
    house.tick()
    house.rules.rules = (
        [] if how == "removed" else [replace(r, enabled=False) for r in house.rules.rules]
    )

    assert house.tick() == ["resolved"]

    (alert,) = house.alerts.alerts.values()
    assert alert.finding.notes == ("rule_removed",)


def test_an_app_that_is_gone_takes_its_alerts_with_it(house: _House) -> None:
    house.silent = {"a"}
    house.tick()
    house.estimates.names = ["b"]

    assert house.tick() == ["resolved"]
    (alert,) = house.alerts.alerts.values()
    assert alert.finding.notes == ("app_gone",)


def test_an_alert_that_cannot_be_told_any_more_ends_when_the_app_is_silent(
    clock: ManualClock,
) -> None:
    house = _House(
        clock, rule(RuleKind.JUDGE_FAILURES, metric="faithfulness", params={"max_share": 0.1})
    )
    house.estimates.names = ["a"]
    house.estimates.outcome = replace(house.estimates.outcome, scored=50, failed=50)
    assert house.tick() == ["firing"]

    house.estimates.outcome = replace(house.estimates.outcome, scored=0, failed=0)
    assert house.tick() == []
    assert house.states() == {"a": "firing"}

    house.silent = {"a"}
    assert house.tick() == ["resolved"]
    (alert,) = house.alerts.alerts.values()
    assert alert.finding.notes == ("no_traces",)


def test_a_maintenance_window_holds_everything_back_until_it_ends(house: _House) -> None:
    house.silences.silences = [
        Silence(
            id="m",
            project="default",
            starts_at=EPOCH,
            ends_at=EPOCH + timedelta(minutes=5),
        )
    ]
    house.silent = {"a"}
    for _ in range(10):
        assert house.tick() in ([None], [])
    assert house.alerts.queued == {}

    assert house.tick(300) == ["firing"]


def test_a_silence_holds_from_its_first_moment(house: _House) -> None:
    house.silent = {"a"}
    begins = EPOCH + timedelta(seconds=5)  # within a slot, whose window ended before
    house.silences.silences = [
        Silence(id="m", project="default", starts_at=begins, ends_at=begins + timedelta(minutes=5))
    ]

    assert house.tick(8) == [None]
    assert house.alerts.queued == {}


def test_a_resolution_held_back_by_a_silence_is_told_when_it_ends(house: _House) -> None:
    house.silent = {"a"}
    house.tick()
    now = house.clock.now()
    house.silences.silences = [
        Silence(id="m", project="default", starts_at=now, ends_at=now + timedelta(minutes=5))
    ]
    house.silent = set()
    assert house.tick() == [None]
    house.tick()

    assert house.tick(300) == ["resolved"]
    assert house.tick() == []


def test_a_dry_run_changes_nothing(house: _House) -> None:
    house.silent = {"b"}

    found = house.engine.try_rule(house.rules.rules[0])

    assert {app: finding.active for app, finding in found.items()} == {"a": False, "b": True}
    assert house.alerts.saves == 0


def test_the_budget_rule_is_looked_at_once_for_all_apps(clock: ManualClock) -> None:
    house = _House(clock, rule(RuleKind.BUDGET))
    house.estimates.budget_state = replace(
        house.estimates.budget_state, remaining=0.0, exhausted=True, limits=("tokens",)
    )

    assert house.tick() == ["firing"]

    (alert,) = house.alerts.alerts.values()
    assert alert.app == "*"
    assert "tokens" in alert.finding.summary
    assert alert.state is AlertState.FIRING
