"""Whatever changes something is written down, by programs and by people alike."""

from __future__ import annotations

import httpx
import pytest

from rag_monitor.domain.stored import KeyScope
from rag_monitor.errors import StoreUnavailable
from rag_monitor.server.app import create_app
from rag_monitor.server.auth import Gate
from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client

ADMIN = {"x-api-key": "master-key"}


async def test_changes_through_the_api_are_written_down(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    made = await outsider.post(
        "/api/v1/keys", json={"name": "app", "scopes": ["read"]}, headers=ADMIN
    )
    key = made.json()["key"]["id"]
    await outsider.post(f"/api/v1/keys/{key}/rotate", json={"grace_s": 60}, headers=ADMIN)
    await outsider.delete(f"/api/v1/keys/{key}", headers=ADMIN)
    await outsider.put("/api/v1/rules", json={"rules": []}, headers=ADMIN)
    await outsider.post("/api/v1/alerts/al-1/acknowledge", headers=ADMIN)
    silence = await outsider.post(
        "/api/v1/silences", json={"ends_at": "2030-01-01T00:00:00Z"}, headers=ADMIN
    )
    assert silence.status_code == 422, "longer than a year"
    await outsider.delete("/api/v1/users/mei@example.org", headers=ADMIN)
    await outsider.post("/api/v1/evaluations", json={"preview": False}, headers=ADMIN)

    found = (await outsider.get("/api/v1/audit", headers=ADMIN)).json()["events"]

    assert [event["action"] for event in reversed(found)] == [
        "key.create",
        "key.rotate",
        "key.revoke",
        "rules.replace",
        "alert.acknowledge",
        "user.erase",
        "backfill.start",
    ]
    assert {event["actor"] for event in found} == {"configured"}
    assert {event["address"] for event in found} == {"127.0.0.1"}
    created = found[-1]
    assert created["target"] == key
    assert created["details"] == {"name": "app", "scopes": "read"}
    assert "mei" not in str(found)


async def test_an_erased_user_is_named_by_a_pseudonym_that_stays_the_same(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    for user in ("mei", "mei", "lin"):
        await outsider.delete(f"/api/v1/users/{user}", headers=ADMIN)

    names = [event.target for event in locked.audit.events]
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("user:")


async def test_refused_changes_are_no_changes(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    await outsider.delete("/api/v1/keys/unknown", headers=ADMIN)
    await outsider.delete("/api/v1/silences/unknown", headers=ADMIN)
    await outsider.put("/api/v1/rules", json={"rules": [{}]}, headers=ADMIN)

    assert locked.audit.events == []


async def test_a_change_that_cannot_be_written_down_does_not_pass_in_silence(
    outsider: httpx.AsyncClient, locked: Services, caplog: pytest.LogCaptureFixture
) -> None:
    locked.audit.error = StoreUnavailable()

    answer = await outsider.put("/api/v1/rules", json={"rules": []}, headers=ADMIN)

    assert answer.status_code == 503
    (line,) = [one for one in caplog.records if "audit log" in one.getMessage()]
    assert "rules.replace by configured" in line.getMessage()
    assert line.exc_info is None


async def test_signing_in_and_out_and_forms_are_written_down(locked: Services) -> None:
    app = create_app(locked)
    gate: Gate = app.state.gate
    async with open_client(locked) as client:
        client._transport = httpx.ASGITransport(app=app)

        async def send(path: str, **form: str) -> httpx.Response:
            session = gate.read_session(client.cookies["rag_monitor_session"].strip('"'))
            assert session is not None
            return await client.post(path, data={"token": gate.form_token(session), **form})

        await client.get("/login")
        wrong = await send("/login", key="wrong")
        right = await send("/login", key="master-key")
        await send("/ui/keys", name="app", scopes="ingest")
        await send("/ui/rules/delete", name="end-to-end latency", confirmed="yes")
        await send("/ui/silences", hours="4")
        await send("/ui/alerts/act", id="al-1", do="acknowledge")
        await send("/logout")

    assert (wrong.status_code, right.status_code) == (401, 303)
    assert [(event.action, event.actor) for event in locked.audit.events] == [
        ("login.failed", "nobody"),
        ("login", "configured"),
        ("key.create", "configured"),
        ("rule.delete", "configured"),
        ("silence.create", "configured"),
        ("alert.acknowledge", "configured"),
        ("logout", "configured"),
    ]


async def test_the_log_is_for_admins_and_pages_backwards(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    read, _ = locked.keys.create("default", "r", frozenset({KeyScope.READ, KeyScope.WRITE}))
    other, _ = locked.keys.create("other", "a", frozenset({KeyScope.ADMIN}))
    for name in "abc":
        await outsider.delete(f"/api/v1/users/{name}", headers=ADMIN)

    assert (await outsider.get("/api/v1/audit", headers={"x-api-key": read})).status_code == 403
    theirs = await outsider.get("/api/v1/audit", headers={"x-api-key": other})
    assert theirs.json()["events"] == []
    first = (await outsider.get("/api/v1/audit?limit=2", headers=ADMIN)).json()
    second = (
        await outsider.get(f"/api/v1/audit?limit=2&before={first['next_before']}", headers=ADMIN)
    ).json()
    assert [event["id"] for event in first["events"] + second["events"]] == [3, 2, 1]
    assert second["next_before"] is None


async def test_only_the_configured_key_makes_keys_of_other_projects(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    body = {"name": "x", "scopes": ["admin"], "project": "team-b"}
    made = await outsider.post("/api/v1/keys", json=body, headers=ADMIN)
    theirs = {"x-api-key": made.json()["secret"]}

    listed = await outsider.get("/api/v1/keys?project=team-b", headers=ADMIN)
    refused = [
        await outsider.post("/api/v1/keys", json=body | {"project": "default"}, headers=theirs),
        await outsider.get("/api/v1/keys?project=default", headers=theirs),
        await outsider.get("/api/v1/audit?project=default", headers=theirs),
        await outsider.delete("/api/v1/keys/k0?project=default", headers=theirs),
        await outsider.post("/api/v1/keys/k0/rotate?project=default", headers=theirs),
    ]

    assert made.status_code == 201
    assert [key["id"] for key in listed.json()["keys"]] == [made.json()["key"]["id"]]
    assert [answer.status_code for answer in refused] == [403] * 5
    assert (await outsider.get("/api/v1/keys", headers=theirs)).status_code == 200
    events = (await outsider.get("/api/v1/audit", headers=theirs)).json()["events"]
    assert [event["action"] for event in events] == ["key.create"]
