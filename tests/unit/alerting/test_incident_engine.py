"""A run over all rules groups what fires, tells of it once, and again when there is news."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import pytest

from rag_monitor import telemetry
from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.incidents.teller import IncidentTeller
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.incident import Example, Incident, IncidentTrace
from rag_monitor.domain.window import Window
from rag_monitor.errors import StoreDamaged, StoreUnavailable
from rag_monitor.testing import ManualClock
from tests.unit.alerting.fakes import FakeAlerts, FakeEstimates, FakeRules, rule

OPTIONS = AlertOptions(slot_s=15.0, together_s=600.0, retell_s=300.0)


class FakeIncidentTraces:
    """What the test put in, and what was asked."""

    def __init__(self) -> None:
        self.traces: list[IncidentTrace] = []
        self.asked: list[tuple[str, datetime]] = []
        self.broken: Exception | None = None
        self.takes_s = 0.0
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def load(
        self,
        project: str,
        app: str,
        since: datetime,
        until: datetime,
        limit: int,
        metrics: Collection[str] = (),
    ) -> Sequence[IncidentTrace]:
        self.now_s += self.takes_s
        if self.broken is not None:
            raise self.broken
        self.asked.append((app, until))
        return [one for one in self.traces if since <= one.started_at < until][-limit:]

    def examples(self, project: str, trace_ids: Sequence[str]) -> list[Example]:
        return [Example(trace_id=id, question=f"question of {id}") for id in trace_ids]


class House:
    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.silent: set[str] = set()
        estimates = FakeEstimates(names=["a", "b"], trace_counts=self._traces)
        rules = [rule(name="one", window_s=60.0), rule(name="two", window_s=120.0)]
        self.alerts = FakeAlerts()
        self.traces = FakeIncidentTraces()
        self.engine = AlertEngine(
            estimates,  # type: ignore[arg-type]
            FakeRules(rules),  # type: ignore[arg-type]
            self.alerts,  # type: ignore[arg-type]
            clock,
            OPTIONS,
            channels=("ops",),
            incidents=IncidentTeller(
                self.alerts,  # type: ignore[arg-type]
                self.traces,  # type: ignore[arg-type]
                OPTIONS,
                self.traces.monotonic,
            ),
        )

    def _traces(self, app: str, window: Window) -> Mapping[str, int]:
        return {} if app in self.silent and window.length < timedelta(hours=2) else {"ok": 3}

    def tick(self, seconds: float = 15.0) -> None:
        self.clock.advance(seconds)
        self.engine.run()

    @property
    def incidents(self) -> list[Incident]:
        return list(self.alerts.incidents.values())


@pytest.fixture
def house(clock: ManualClock) -> House:
    return House(clock)


def test_each_app_has_its_incident_and_every_message_says_which(house: House) -> None:
    house.silent = {"a", "b"}
    house.tick()

    assert sorted((one.app, len(one.alerts)) for one in house.incidents) == [("a", 2), ("b", 2)]
    for message in house.alerts.queued.values():
        assert message.incident is not None
        assert message.incident.app == message.alert.app
        assert message.incident.story is not None


def test_a_story_is_told_again_after_a_while_and_not_at_each_look(house: House) -> None:
    house.silent = {"a"}
    for _ in range(10):
        house.tick(30)

    assert len(house.traces.asked) == 1

    house.tick(60)
    assert len(house.traces.asked) == 2


def test_an_incident_ends_when_its_alerts_do(house: House) -> None:
    house.silent = {"a"}
    house.tick()
    house.silent = set()
    house.tick()

    (incident,) = house.incidents
    assert incident.ended_at == house.clock.now()
    assert [part.resolved_at for part in incident.alerts] == [house.clock.now()] * 2

    house.silent = {"a"}
    house.tick()
    assert len(house.incidents) == 2


def test_examples_come_with_their_question(house: House) -> None:
    now = house.clock.now()
    house.traces.traces = [
        IncidentTrace(
            trace_id=str(n),
            started_at=now + timedelta(seconds=n - 200),
            fault=Fault.INVENTED if n > 150 else Fault.NONE,
            probability=n / 200,
        )
        for n in range(200)
    ]
    house.silent = {"a"}
    house.tick()

    (incident,) = house.incidents
    assert incident.story is not None
    assert incident.story.fault is Fault.INVENTED
    examples = [(one.question, one.fault) for one in incident.story.examples]
    assert examples == [(f"question of {n}", Fault.INVENTED) for n in (199, 198, 197)]


@pytest.mark.parametrize(
    "error", [ValueError("odd data"), StoreUnavailable("too slow"), StoreDamaged("a page")]
)
def test_a_story_that_fails_costs_no_alert_and_is_counted(house: House, error: Exception) -> None:
    failures = telemetry.JOB_FAILURES.labels(job="incident")
    before = failures._value.get()
    house.silent, house.traces.broken = {"a"}, error
    house.tick()

    (incident,) = house.incidents
    assert incident.story is None
    assert house.alerts.events == ["firing", "firing"]
    assert failures._value.get() == before + 1


def test_incidents_that_cannot_be_read_cost_no_alert(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = telemetry.JOB_FAILURES.labels(job="incident")
    before = failures._value.get()

    def unreadable() -> list[Incident]:
        raise KeyError("story")

    monkeypatch.setattr(house.alerts, "unfinished", unreadable)
    house.silent = {"a"}
    house.tick()

    assert house.alerts.events == ["firing", "firing"]
    assert failures._value.get() == before + 1


def test_alerts_wait_for_few_stories_and_the_others_are_told_next(house: House) -> None:
    house.silent, house.traces.takes_s = {"a", "b"}, 6.0
    house.tick()

    assert house.alerts.events == ["firing"] * 4
    assert sorted(one.story is None for one in house.incidents) == [False, True]

    house.tick()
    assert [one.story is None for one in house.incidents] == [False, False]
