"""Requests counted by route: known templates only, whatever is asked for."""

from __future__ import annotations

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from rag_monitor.server.app import create_app
from rag_monitor.server.http_metrics import HttpMetrics
from rag_monitor.server.services import Services
from rag_monitor.telemetry import HTTP_REQUESTS, HTTP_SECONDS, REGISTRY


@pytest.fixture(autouse=True)
def _nothing_counted() -> None:
    HTTP_REQUESTS.clear()
    HTTP_SECONDS.clear()


def counted() -> dict[tuple[str, str, str], float]:
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in HTTP_REQUESTS.collect()
        for sample in family.samples
        if sample.name == "rag_monitor_http_requests_total"
    }


async def test_requests_are_counted_by_the_template_of_their_route(
    client: httpx.AsyncClient,
) -> None:
    for trace_id in ("a" * 32, "b" * 32):
        await client.get(f"/api/v1/traces/{trace_id}")
    await client.get("/healthz")
    await client.head("/healthz")

    assert counted() == {
        ("GET", "/api/v1/traces/{trace_id}", "404"): 2,
        ("GET", "/healthz", "200"): 1,
        ("HEAD", "/healthz", "200"): 1,
    }
    labels = {"method": "GET", "route": "/api/v1/traces/{trace_id}"}
    name = "rag_monitor_http_request_duration_seconds_count"
    assert REGISTRY.get_sample_value(name, labels) == 2


async def test_what_nobody_foresaw_is_one_series(client: httpx.AsyncClient) -> None:
    for number in range(20):
        await client.get(f"/nothing/{number}")
        await client.request(f"BREW{number}", f"/nothing/{number}")

    assert {(method, route) for method, route, _ in counted()} == {
        ("GET", "unmatched"),
        ("other", "unmatched"),
    }


async def test_a_wrong_method_is_counted_under_its_route(client: httpx.AsyncClient) -> None:
    assert (await client.delete("/healthz")).status_code == 405

    assert counted() == {("DELETE", "/healthz", "405"): 1}


async def test_what_is_refused_before_routing_is_counted_under_its_address_if_that_is_fixed(
    client: httpx.AsyncClient, services: Services
) -> None:
    foreign = {"host": "elsewhere.example"}
    await client.post("/v1/traces", headers=foreign)
    await client.get(f"/api/v1/traces/{'a' * 32}", headers=foreign)

    assert counted() == {("POST", "/v1/traces", "400"): 1, ("GET", "unmatched", "400"): 1}


async def test_trouble_inside_is_counted_as_it_is_answered(
    client: httpx.AsyncClient, services: Services
) -> None:
    services.traces.error = RuntimeError("broken")
    await client.get(f"/api/v1/traces/{'a' * 32}")

    assert counted() == {("GET", "/api/v1/traces/{trace_id}", "503"): 1}


async def test_a_request_that_ends_without_an_answer_is_counted() -> None:
    async def gone(scope: Scope, receive: Receive, send: Send) -> None:
        raise ConnectionResetError

    async def never(*_: object) -> None:
        raise AssertionError

    traffic = HttpMetrics(gone, ())
    with pytest.raises(ConnectionResetError):
        await traffic({"type": "http", "method": "GET", "path": "/"}, never, never)  # type: ignore[arg-type]

    assert counted() == {("GET", "unmatched", "aborted"): 1}


async def test_every_route_has_a_template_of_its_own(services: Services) -> None:
    """No label can come from an address: every route with a parameter shows its name."""
    for route in create_app(services).state.api_routes:
        assert route.path_format.count("{") == len(route.param_convertors)
