"""Traces that judging gave up on, seen and retried by programs and by people."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from rag_monitor.domain.stored import ParkedTask
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services

ADMIN = {"x-api-key": "master-key"}
FIRST, SECOND, THEIRS = "a" * 32, "b" * 32, "c" * 32


def parked(trace_id: str, project: str = "default", reason: str = "unsavable") -> ParkedTask:
    again_at = EPOCH if reason == "worker_lost_thrice" else None
    return ParkedTask(
        project=project, trace_id=trace_id, reason=reason, attempts=5, again_at=again_at
    )


@pytest.fixture
def locked() -> Any:
    services: Any = make_services(api_key="master-key")
    services.tasks.given_up = [
        parked(FIRST, reason="worker_lost_thrice"),
        parked(SECOND),
        parked(THEIRS, "team-b"),
    ]
    return services


async def a_key(services: Services, *scopes: str) -> dict[str, str]:
    async with open_client(services, headers=ADMIN) as client:
        made = await client.post("/api/v1/keys", json={"name": "k", "scopes": list(scopes)})
    return {"x-api-key": made.json()["secret"]}


async def test_a_reader_sees_what_is_parked_in_the_project(locked: Any) -> None:
    async with open_client(locked, headers=await a_key(locked, "read")) as client:
        answer = await client.get("/api/v1/tasks/parked")

    assert answer.json()["traces"] == [
        {
            "trace_id": FIRST,
            "reason": "worker_lost_thrice",
            "attempts": 5,
            "again_at": EPOCH.isoformat().replace("+00:00", "Z"),
        },
        {"trace_id": SECOND, "reason": "unsavable", "attempts": 5, "again_at": None},
    ]


async def test_an_admin_retries_one_or_all_and_it_is_written_down(locked: Any) -> None:
    async with open_client(locked, headers=ADMIN) as client:
        one = await client.post("/api/v1/tasks/retry", json={"trace_ids": [FIRST, THEIRS]})
        rest = await client.post("/api/v1/tasks/retry")
        nothing = await client.post("/api/v1/tasks/retry")

    assert [answer.json() for answer in (one, rest, nothing)] == [
        {"queued": 1},
        {"queued": 1},
        {"queued": 0},
    ]
    assert [task.trace_id for task in locked.tasks.given_up] == [THEIRS], "another project's"
    assert [(event.action, dict(event.details)) for event in locked.audit.events] == [
        ("tasks.retry", {"queued": 1}),
        ("tasks.retry", {"queued": 1}),
    ], "what changed nothing is not written down"


async def test_retrying_needs_the_scope_admin(locked: Any) -> None:
    async with open_client(locked, headers=await a_key(locked, "read", "write")) as client:
        answer = await client.post("/api/v1/tasks/retry")

    assert answer.status_code == 403
    assert len(locked.tasks.given_up) == 3


async def test_what_is_no_trace_id_is_refused(locked: Any) -> None:
    async with open_client(locked, headers=ADMIN) as client:
        wrong = await client.post("/api/v1/tasks/retry", json={"trace_ids": ["x"]})
        none = await client.post("/api/v1/tasks/retry", json={"trace_ids": []})

    assert (wrong.status_code, none.status_code) == (422, 422)


async def test_the_judges_page_lists_them_with_a_button(
    client: httpx.AsyncClient, services: Any
) -> None:
    assert 'id="parked"' not in (await client.get("/judges")).text
    services.tasks.given_up = [parked(FIRST, reason="worker_lost_thrice"), parked(SECOND)]

    shown = (await client.get("/judges?lang=zh")).text
    token = shown.partition('name="token" value="')[2].partition('"')[0]
    form = {"token": token, "trace_id": SECOND}
    answer = await client.post("/ui/tasks/retry", data=form)

    assert "已有三个 worker 因它退出" in shown
    assert f"/traces/{FIRST}" in shown
    assert (answer.status_code, answer.headers["location"]) == (303, "/judges")
    assert [task.trace_id for task in services.tasks.given_up] == [FIRST]
    await client.post("/ui/tasks/retry", data={"token": token})
    assert services.tasks.given_up == []


async def test_whoever_may_only_read_sees_no_button(locked: Any) -> None:
    async with open_client(locked, headers=await a_key(locked, "read")) as client:
        shown = (await client.get("/judges")).text

    assert 'id="parked"' in shown
    assert "/ui/tasks/retry" not in shown
