"""A JSON object that names a key twice: one of its values would be passed over."""

from __future__ import annotations

import httpx
import pytest

from rag_monitor.server.app import create_app
from rag_monitor.server.services import Services
from rag_monitor.server.validation import OnceRoute
from tests.unit.server.fakes import make_services

TRACE = "a" * 32
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "body", "key"),
    [
        ("POST", "feedback", f'{{"trace_id": "{TRACE}", "value": 1, "value": 0}}', "value"),
        ("POST", "silences", '{"ends_at": "2026-01-05T13:00:00Z", "app": "a", "app": "b"}', "app"),
        ("PUT", "rules", '{"rules": [], "rules": []}', "rules"),
        ("PUT", "rules", '{"rules": [{"name": "r", "params": {"k": 1, "k": 2}}]}', "k"),
        ("POST", "rules/check", '{"name": "r", "kind": "drop", "kind": "latency"}', "kind"),
        ("POST", "keys", '{"name": "k", "scopes": ["read"], "scopes": ["admin"]}', "scopes"),
        ("POST", "evaluations", '{"preview": true, "preview": false}', "preview"),
        ("POST", "alerts/x/acknowledge", '{"by": "mei", "by": "li"}', "by"),
    ],
)
async def test_it_is_refused_with_the_key_named(
    client: httpx.AsyncClient, services: Services, method: str, path: str, body: str, key: str
) -> None:
    answer = await client.request(method, f"/api/v1/{path}", content=body, headers=JSON)

    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"].startswith(f"`{key}`: stands twice in one JSON object")
    assert answer.json()["errors"][0]["field"] == key
    assert services.feedback.marks == []  # type: ignore[attr-defined]


async def test_the_same_key_in_different_objects_is_nothing_special(
    client: httpx.AsyncClient,
) -> None:
    rules = [{"name": name, "kind": "no_data", "params": {}} for name in ("one", "two")]

    answer = await client.put("/api/v1/rules", json={"rules": rules})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"trace_id": ', 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"' + b"k" * 5000 + b'": 1, "' + b"k" * 5000 + b'": 2}', 400),
        (b'{"\\ud800": 1, "\\ud800": 2}', 400),
        (b"[]", 422),
        (b'{"trace_id": "' + TRACE.encode() + b'", "value": NaN}', 422),
    ],
)
async def test_other_broken_bodies_stay_what_they_were(
    client: httpx.AsyncClient, body: bytes, status: int
) -> None:
    answer = await client.post("/api/v1/feedback", content=body, headers=JSON)

    assert answer.status_code == status
    assert len(answer.content) < 2000


def test_every_address_of_the_interface_that_takes_a_body_reads_it_so() -> None:
    app = create_app(make_services())
    lax = [
        route.path
        for route in app.state.api_routes
        if route.path.startswith("/api/v1/") and not isinstance(route, OnceRoute)
    ]

    assert lax == []
