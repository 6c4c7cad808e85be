"""`rag-monitor tasks` against a real server."""

from __future__ import annotations

import json
from typing import Any

from rag_monitor.domain.stored import ParkedTask
from rag_monitor.testing import EPOCH
from tests.integration.server.test_alert_commands import Run, run, services, url

__all__ = ["run", "services", "url"]

FIRST, SECOND = "a" * 32, "b" * 32


def test_what_is_parked_is_listed_and_retried(run: Run, services: Any) -> None:
    assert run("tasks", "parked").strip() == "no trace is parked"
    services.tasks.given_up = [
        ParkedTask(
            project="default",
            trace_id=FIRST,
            reason="worker_lost_thrice",
            attempts=5,
            again_at=EPOCH,
        ),
        ParkedTask(project="default", trace_id=SECOND, reason="unsavable", attempts=1),
    ]

    first, second = run("tasks", "parked").strip().splitlines()
    listed = json.loads(run("tasks", "parked", "--limit", "1", "--json"))
    one = run("tasks", "retry", FIRST)
    rest = json.loads(run("tasks", "retry", "--json"))

    assert first.startswith(f"{FIRST}  worker_lost_thrice  tried again 2026")
    assert second == f"{SECOND}  unsavable  not tried again"
    assert [task["trace_id"] for task in listed["traces"]] == [FIRST]
    assert one.split() == ["queued", "1"]
    assert rest == {"queued": 1}
    assert services.tasks.given_up == []


def test_a_mistyped_id_is_refused_with_what_it_should_be(run: Run) -> None:
    assert "32 hex digits" in run("tasks", "retry", "nonsense", code=1)
