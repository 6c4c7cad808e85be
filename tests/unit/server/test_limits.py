"""What stands before the routes: sizes, hosts, origins, headers, the last resort."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest

from rag_monitor.config import Settings
from rag_monitor.errors import ConfigurationError, SchemaMismatch, StoreFull, StoreUnavailable
from rag_monitor.server.csrf import answered_hosts, check_reach
from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services

JSON = {"content-type": "application/json"}


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 1000


async def test_a_declared_body_over_the_limit_is_refused_unread() -> None:
    services = make_services(max_body_bytes=1000)
    async with open_client(services) as client:
        answer = await client.post("/api/v1/traces", content=b"x" * 1001, headers=JSON)

    assert answer.status_code == 413
    assert "http.max_body_bytes" in answer.json()["detail"]
    assert services.receiver.received == []


async def test_an_endless_body_is_cut_at_the_limit() -> None:
    async with open_client(make_services(max_body_bytes=5000)) as client:
        raw = await client.post("/api/v1/traces", content=endless(), headers=JSON)
        model = await client.post("/api/v1/feedback", content=endless(), headers=JSON)
        otlp = await client.post("/v1/traces", content=endless(), headers=JSON)

    assert [raw.status_code, model.status_code, otlp.status_code] == [413, 413, 413]
    assert otlp.json()["code"] == 8


async def test_bodies_in_flight_are_bounded() -> None:
    held, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x" * 3000
        held.set()
        await go_on.wait()

    options = {"max_body_bytes": 5000, "max_inflight_bytes": 5000}
    async with open_client(make_services(**options)) as client:
        first = asyncio.create_task(client.post("/api/v1/traces", content=slow(), headers=JSON))
        await held.wait()
        refused = await client.post("/api/v1/traces", content=b"x" * 4000, headers=JSON)
        taken = await client.post("/api/v1/traces", content=b"x" * 2000, headers=JSON)
        go_on.set()
        late = await first

    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "5"
    assert (taken.status_code, late.status_code) == (200, 200)


async def test_only_traces_may_be_large(client: httpx.AsyncClient) -> None:
    large = b"[" + b" " * 1_100_000 + b"]"
    traces = await client.post("/api/v1/traces", content=large, headers=JSON)
    rules = await client.put("/api/v1/rules", content=large, headers=JSON)

    assert (traces.status_code, rules.status_code) == (200, 413)


async def stalled(pieces: int) -> AsyncIterator[bytes]:
    for _ in range(pieces):
        yield b"{"
        await anyio.sleep(0.04)
    await anyio.sleep(5)


@pytest.mark.parametrize(("pause", "pieces"), [(0.05, 1), (0.05, 100)])
async def test_a_body_that_stops_or_drips_is_a_408(pause: float, pieces: int) -> None:
    async with open_client(make_services(body_timeout_s=pause)) as client:
        answers = [
            await client.post(path, content=stalled(pieces), headers=JSON)
            for path in ("/api/v1/traces", "/api/v1/feedback", "/v1/traces")
        ]

    assert [answer.status_code for answer in answers] == [408, 408, 408]
    assert answers[0].headers["connection"] == "close"
    assert answers[2].json()["code"] == 4


async def test_the_allow_header_names_every_method(client: httpx.AsyncClient) -> None:
    answer = await client.patch("/api/v1/keys")

    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, POST"


@pytest.mark.parametrize("length", ["-5", "1e3", "9" * 30])
async def test_a_nonsense_length_is_refused(client: httpx.AsyncClient, length: str) -> None:
    answer = await client.post("/v1/metrics", content=b"", headers={"content-length": length})

    assert answer.status_code == 413


async def test_a_foreign_host_name_is_not_answered(client: httpx.AsyncClient) -> None:
    evil = await client.get("/healthz", headers={"host": "evil.example"})
    local = await client.get("/healthz", headers={"host": "localhost:8700"})

    assert (evil.status_code, local.status_code) == (400, 200)


async def test_the_public_name_is_answered() -> None:
    services = make_services(public_url="https://rag.example.org/monitor")
    async with open_client(services) as client:
        answer = await client.get("/healthz", headers={"host": "rag.example.org"})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_another_site_changes_nothing(
    client: httpx.AsyncClient, services: Services, headers: dict[str, str]
) -> None:
    answer = await client.post("/api/v1/alerts/al-1/acknowledge", headers=headers)

    assert answer.status_code == 403
    assert services.alerts.alerts["al-1"].acknowledged_by is None


async def test_our_own_pages_may_change_things(client: httpx.AsyncClient) -> None:
    headers = {"origin": "http://127.0.0.1:8700", "sec-fetch-site": "same-origin"}

    answer = await client.post("/api/v1/alerts/al-1/acknowledge", headers=headers)

    assert answer.status_code == 200


async def test_no_foreign_origin_is_allowed_to_read(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"origin": "https://evil.example"})

    assert "access-control-allow-origin" not in answer.headers


async def test_every_answer_carries_the_security_headers(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/nothing", "/api/v1/traces"):
        headers = (await client.get(path)).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StoreUnavailable("host=10.0.0.1 password=hunter2"), "store-unavailable"),
        (StoreFull("/var/lib/hunter2.db"), "store-full"),
        (SchemaMismatch(), "schema-mismatch"),
        (RuntimeError("select hunter2"), "unexpected"),
        (RecursionError(), "unexpected"),
    ],
)
async def test_trouble_inside_is_a_503_without_details(
    client: httpx.AsyncClient, services: Services, error: Exception, kind: str
) -> None:
    services.traces.error = error

    answer = await client.get(f"/api/v1/traces/{'a' * 32}")

    assert answer.status_code == 503
    assert answer.json()["type"] == f"urn:rag-monitor:problem:{kind}"
    assert "hunter2" not in answer.text
    assert answer.headers["retry-after"] == "5"


async def test_a_problem_has_the_members_of_rfc_9457(client: httpx.AsyncClient) -> None:
    problem = (await client.get("/api/v1/traces?limit=x")).json()

    assert set(problem) == {"type", "title", "status", "detail", "instance", "errors"}
    assert problem["errors"][0]["field"] == "limit"


def test_an_open_server_listens_on_loopback_only() -> None:
    with pytest.raises(ConfigurationError, match="RAG_MONITOR_API_KEY"):
        check_reach(Settings(), "192.0.2.7")

    check_reach(Settings(api_key="k"), "192.0.2.7")
    assert answered_hosts(Settings(api_key="k")) is None
