"""An outage of the database does not fill the log."""

from __future__ import annotations

import logging

import pytest

from rag_monitor.errors import StoreDamaged, StoreUnavailable
from rag_monitor.store import outage as outage_module
from rag_monitor.store.outage import SETTLED_S, Outage, SharedOutage

LOG = logging.getLogger("rag_monitor.test")


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def test_an_outage_is_told_when_it_begins_now_and_then_and_when_it_is_over(
    said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(outage_module.time, "monotonic", lambda: clock[0])
    outage = Outage(LOG, "not ready")
    outage.passed()
    for _ in range(65):
        outage.hit(StoreUnavailable("away"))
        clock[0] += 10
    outage.passed()
    clock[0] += SETTLED_S
    outage.passed()
    outage.passed()

    assert [record.getMessage() for record in said.records] == [
        "not ready: away",
        "not ready for 300 s: away",
        "not ready for 600 s: away",
        "not ready: over after 650 s",
    ]


def test_those_who_fail_for_one_cause_tell_of_it_once_and_of_its_end_when_all_went_through(
    said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(outage_module.time, "monotonic", lambda: clock[0])
    shared = SharedOutage()
    jobs, taking = Outage(LOG, "jobs wait", shared), Outage(LOG, "nothing taken in", shared)
    for _ in range(3):
        jobs.hit(StoreUnavailable("locked"))
        taking.hit(StoreUnavailable("locked"))
    jobs.passed()
    clock[0] += SETTLED_S
    jobs.passed()
    assert said.messages == ["jobs wait: locked"]
    taking.passed()
    clock[0] += SETTLED_S
    jobs.passed()

    assert said.messages[1:] == ["jobs wait: over after 5 s"]


def test_success_in_between_and_a_failure_on_the_way_back_are_the_same_outage(
    said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(outage_module.time, "monotonic", lambda: clock[0])
    outage = Outage(LOG, "jobs wait")
    for _ in range(10):
        outage.hit(StoreUnavailable("read-only"))
        clock[0] += 1
        outage.passed()
        clock[0] += SETTLED_S - 1
        outage.passed()
    clock[0] += 1
    outage.passed()

    assert said.messages == ["jobs wait: read-only", "jobs wait: over after 46 s"]


def test_an_outage_whose_end_nobody_came_by_to_tell_is_ended_before_the_next_begins(
    said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(outage_module.time, "monotonic", lambda: clock[0])
    outage = Outage(LOG, "jobs wait")
    outage.hit(StoreUnavailable("away"))
    clock[0] += 2
    outage.passed()
    clock[0] += 60
    outage.hit(StoreUnavailable("away"))

    assert said.messages == ["jobs wait: away", "jobs wait: over after 2 s", "jobs wait: away"]


def test_one_who_never_tries_again_hides_no_later_outage(
    said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(outage_module.time, "monotonic", lambda: clock[0])
    shared = SharedOutage()
    jobs, taking = Outage(LOG, "jobs wait", shared), Outage(LOG, "nothing taken in", shared)
    taking.hit(StoreUnavailable("full"))  # and nobody sends anything from now on
    clock[0] += 301
    jobs.passed()
    clock[0] += SETTLED_S
    taking.hit(StoreUnavailable("full"))
    clock[0] += 301
    jobs.hit(StoreUnavailable("away"))

    assert said.messages == [
        "nothing taken in: full",
        "nothing taken in: over after 301 s",
        "nothing taken in: full",
        "jobs wait: away",
    ]


def test_who_fails_for_ever_for_a_cause_of_its_own_hides_no_outage(
    said: pytest.LogCaptureFixture,
) -> None:
    shared = SharedOutage()
    jobs, taking = Outage(LOG, "jobs wait", shared), Outage(LOG, "nothing taken in", shared)
    for _ in range(3):
        jobs.hit(StoreDamaged("a page"))
        taking.hit(StoreUnavailable("away"))

    assert said.messages == ["jobs wait: a page", "nothing taken in: away"]
