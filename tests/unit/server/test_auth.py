"""Keys, scopes, projects, and the limit on guessing."""

from __future__ import annotations

import base64

import httpx
import pytest
from starlette.requests import Request

from rag_monitor.domain.stored import KeyScope
from rag_monitor.server.auth import Gate, Principal
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.rates import FailureLimit, KeyLimit
from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client

OTLP = {"content-type": "application/x-protobuf"}


def make_key(services: Services, *scopes: KeyScope, project: str = "default") -> dict[str, str]:
    secret, _ = services.keys.create(project, "test", frozenset(scopes))
    return {"x-api-key": secret}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": "wrong"},
        {"x-api-key": ""},
        {"x-api-key": "master-key\x00"},
        {"x-api-key": "m" * 1_000_000},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic !!!"},
        {"authorization": "master-key"},
        {"cookie": "rag_monitor_session=e30.forged"},
    ],
)
async def test_without_a_valid_key_nothing_is_told(
    outsider: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    for path in ("/api/v1/traces", "/api/v1/keys", "/metrics", "/openapi.json"):
        answer = await outsider.get(path, headers=headers)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_key_in_the_address_is_not_a_key(outsider: httpx.AsyncClient) -> None:
    assert (await outsider.get("/api/v1/traces?api_key=master-key")).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": "master-key"},
        {"authorization": "Bearer master-key"},
        {"authorization": "Basic " + base64.b64encode(b"public:master-key").decode()},
    ],
)
async def test_the_configured_key_opens_everything(
    outsider: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    assert (await outsider.get("/api/v1/keys", headers=headers)).status_code == 200
    assert (await outsider.post("/v1/traces", headers=headers | OTLP)).status_code == 200


async def test_liveness_needs_no_key(outsider: httpx.AsyncClient) -> None:
    assert (await outsider.get("/healthz")).status_code == 200
    assert (await outsider.get("/readyz")).status_code == 200


async def test_a_key_does_only_what_its_scopes_say(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    ingest = make_key(locked, KeyScope.INGEST)
    read = make_key(locked, KeyScope.READ)

    assert (await outsider.post("/v1/traces", headers=ingest | OTLP)).status_code == 200
    assert (await outsider.get("/api/v1/traces", headers=ingest)).status_code == 403
    assert (await outsider.get("/api/v1/traces", headers=read)).status_code == 200
    refused = await outsider.post("/v1/traces", headers=read | {"content-type": "application/json"})
    assert refused.status_code == 403
    assert refused.json()["code"] == 7
    assert (await outsider.get("/api/v1/keys", headers=read)).status_code == 403
    assert (await outsider.delete("/api/v1/users/u", headers=read)).status_code == 403


async def test_another_project_sees_the_same_404_as_for_nothing(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    ours = next(iter(locked.traces.stored))[1]
    theirs = make_key(locked, KeyScope.READ, KeyScope.WRITE, project="other")

    foreign = await outsider.get(f"/api/v1/traces/{ours}", headers=theirs)
    unknown = await outsider.get(f"/api/v1/traces/{'0' * 31}1", headers=theirs)
    alert = await outsider.post("/api/v1/alerts/al-1/acknowledge", headers=theirs)

    assert foreign.status_code == unknown.status_code == alert.status_code == 404
    assert foreign.json()["detail"].replace(ours, "") == unknown.json()["detail"].replace(
        "0" * 31 + "1", ""
    )
    assert (await outsider.get("/api/v1/traces", headers=theirs)).json()["items"] == []


async def test_a_revoked_key_opens_nothing(outsider: httpx.AsyncClient) -> None:
    admin = {"x-api-key": "master-key"}
    made = await outsider.post(
        "/api/v1/keys", json={"name": "app", "scopes": ["read"]}, headers=admin
    )
    mine = {"x-api-key": made.json()["secret"]}
    before = await outsider.get("/api/v1/traces", headers=mine)
    gone = await outsider.delete(f"/api/v1/keys/{made.json()['key']['id']}", headers=admin)
    after = await outsider.get("/api/v1/traces", headers=mine)

    assert (made.status_code, gone.status_code) == (201, 204)
    assert "content-type" not in gone.headers
    assert (before.status_code, after.status_code) == (200, 401)


async def test_secrets_are_never_listed(outsider: httpx.AsyncClient) -> None:
    admin = {"x-api-key": "master-key"}
    made = await outsider.post(
        "/api/v1/keys", json={"name": "app", "scopes": ["read"]}, headers=admin
    )
    listed = await outsider.get("/api/v1/keys", headers=admin)

    assert made.json()["secret"] not in listed.text


async def test_guessing_is_slowed_down_and_forwarded_addresses_do_not_help(
    outsider: httpx.AsyncClient,
) -> None:
    codes = []
    for number in range(35):
        headers = {"x-api-key": f"guess-{number}", "x-forwarded-for": f"10.0.0.{number}"}
        codes.append((await outsider.get("/api/v1/traces", headers=headers)).status_code)

    assert codes[:30] == [401] * 30
    assert codes[30:] == [429] * 5


def test_a_minute_later_the_address_may_try_again() -> None:
    limit = FailureLimit(per_minute=2)
    limit.record("a", 0.0)
    limit.record("a", 1.0)

    with pytest.raises(ProblemError) as refused:
        limit.check("a", 30.0)
    limit.check("a", 60.5)
    limit.check("b", 30.0)

    assert refused.value.problem.headers["Retry-After"] == "30"


def test_a_key_may_use_its_burst_and_then_its_rate() -> None:
    limit = KeyLimit(per_minute=60)
    for _ in range(10):
        limit.admit("a", None, 0.0)

    with pytest.raises(ProblemError) as refused:
        limit.admit("a", None, 0.0)
    limit.admit("b", None, 0.0)
    limit.admit("a", None, 1.0)
    with pytest.raises(ProblemError):
        limit.admit("a", None, 1.5)

    assert refused.value.problem.status == 429
    assert refused.value.problem.headers["Retry-After"] == "1"


def test_a_keys_own_limit_wins_and_zero_is_none() -> None:
    limit = KeyLimit(per_minute=1)
    for _ in range(100):
        limit.admit("free", 0, 0.0)
    limit.admit("slow", 6, 0.0)

    with pytest.raises(ProblemError) as refused:
        limit.admit("slow", 6, 0.0)

    assert refused.value.problem.headers["Retry-After"] == "10"


async def test_a_key_over_its_limit_waits_and_others_do_not(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    admin = {"x-api-key": "master-key"}
    made = await outsider.post(
        "/api/v1/keys",
        json={"name": "noisy", "scopes": ["ingest"], "requests_per_minute": 60},
        headers=admin,
    )
    noisy = {"x-api-key": made.json()["secret"]} | OTLP
    codes = [(await outsider.post("/v1/traces", headers=noisy)).status_code for _ in range(11)]
    refused = await outsider.post("/v1/traces", headers=noisy)

    assert codes == [200] * 10 + [429]
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["content-type"] == "application/x-protobuf"
    assert (await outsider.get("/api/v1/keys", headers=admin)).status_code == 200
    locked.clock.advance(1)
    assert (await outsider.post("/v1/traces", headers=noisy)).status_code == 200


async def test_an_open_server_takes_dummy_credentials(client: httpx.AsyncClient) -> None:
    headers = {"authorization": "Basic " + base64.b64encode(b"pk:sk").decode()}

    assert (await client.get("/api/v1/traces", headers=headers)).status_code == 200


def session_request(value: str) -> Request:
    cookie = f"rag_monitor_session={value}".encode()
    return Request({"type": "http", "headers": [(b"cookie", cookie)], "method": "GET"})


def test_a_session_is_worth_nothing_when_it_was_changed(locked: Services) -> None:
    gate = Gate(locked)
    value = gate.open_session(
        Principal(project="default", scopes=frozenset(KeyScope), key_id="configured")
    )
    flipped = ("A" if value[0] != "A" else "B") + value[1:]

    assert gate.session(session_request(value)) is not None
    assert gate.session(session_request(flipped)) is None


def test_a_session_ends(locked: Services) -> None:
    gate = Gate(locked)
    value = gate.open_session(
        Principal(project="default", scopes=frozenset(KeyScope), key_id="configured")
    )
    locked.clock.advance(13 * 3600)

    assert gate.session(session_request(value)) is None


async def test_a_session_of_a_revoked_key_opens_nothing(locked: Services) -> None:
    _, key = locked.keys.create("default", "mei", frozenset({KeyScope.READ}))
    async with open_client(locked) as client:
        gate: Gate = client._transport.app.state.gate  # type: ignore[attr-defined]
        value = gate.open_session(
            Principal(project="default", scopes=key.scopes, key_id=key.id, name=key.name)
        )
        headers = {"cookie": f"rag_monitor_session={value}"}
        before = await client.get("/api/v1/traces", headers=headers)
        locked.keys.revoke("default", key.id)
        after = await client.get("/api/v1/traces", headers=headers)

    assert (before.status_code, after.status_code) == (200, 401)
