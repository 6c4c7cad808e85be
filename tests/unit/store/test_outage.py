"""An outage of the database does not fill the log."""

from __future__ import annotations

import logging

import pytest

from rag_monitor.errors import StoreUnavailable
from rag_monitor.store import outage as outage_module
from rag_monitor.store.outage import Outage

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
    outage.passed()

    assert [record.getMessage() for record in said.records] == [
        "not ready: away",
        "not ready for 300 s: away",
        "not ready for 600 s: away",
        "not ready: over after 650 s",
    ]
