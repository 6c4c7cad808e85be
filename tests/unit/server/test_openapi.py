"""The OpenAPI document tells the truth."""

from __future__ import annotations

import json

import httpx

OPERATIONS = {
    ("post", "/v1/traces"),
    ("post", "/v1/logs"),
    ("post", "/v1/metrics"),
    ("post", "/api/v1/traces"),
    ("get", "/api/v1/traces"),
    ("get", "/api/v1/traces/{trace_id}"),
    ("post", "/api/v1/feedback"),
    ("get", "/api/v1/labels/waiting"),
    ("delete", "/api/v1/users/{user_id}"),
    ("get", "/api/v1/summary"),
    ("get", "/api/v1/series"),
    ("get", "/api/v1/releases/compare"),
    ("get", "/api/v1/decisions/{trace_id}"),
    ("get", "/api/v1/rules"),
    ("put", "/api/v1/rules"),
    ("post", "/api/v1/rules/check"),
    ("get", "/api/v1/alerts"),
    ("post", "/api/v1/alerts/{alert_id}/acknowledge"),
    ("get", "/api/v1/silences"),
    ("post", "/api/v1/silences"),
    ("delete", "/api/v1/silences/{silence_id}"),
    ("post", "/api/v1/evaluations"),
    ("get", "/api/v1/keys"),
    ("post", "/api/v1/keys"),
    ("delete", "/api/v1/keys/{key_id}"),
    ("post", "/api/v1/keys/{key_id}/rotate"),
    ("get", "/api/v1/audit"),
    ("get", "/metrics"),
    ("get", "/healthz"),
    ("get", "/readyz"),
}


async def test_the_document_lists_exactly_the_interfaces_we_promise(
    client: httpx.AsyncClient,
) -> None:
    document = (await client.get("/openapi.json")).json()

    found = {(method, path) for path, item in document["paths"].items() for method in item}
    assert found == OPERATIONS


async def test_every_operation_is_described_and_says_how_it_fails(
    client: httpx.AsyncClient,
) -> None:
    document = (await client.get("/openapi.json")).json()

    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert operation["description"], (method, path)
            assert "422" not in operation["responses"], (method, path)
            problem = operation["responses"]["4XX"]["content"]
            status = ["application/x-protobuf", "application/json"]
            expected = status if path.startswith("/v1/") else ["application/problem+json"]
            assert list(problem) == expected, (method, path)


async def test_every_operation_says_which_scope_it_needs(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()

    def scopes(method: str, path: str) -> set[str]:
        entries = document["paths"][path][method]["security"]
        return {scope for entry in entries for needed in entry.values() for scope in needed}

    assert {
        (method, path)
        for path, item in document["paths"].items()
        for method in item
        if not scopes(method, path)
    } == {("get", "/healthz"), ("get", "/readyz")}
    assert scopes("get", "/api/v1/traces") == {"read"}
    assert scopes("post", "/api/v1/feedback") == {"ingest", "write"}
    assert scopes("put", "/api/v1/rules") == {"write"}
    assert scopes("delete", "/api/v1/users/{user_id}") == {"admin"}


async def test_no_parameter_of_an_address_is_said_to_be_null(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()

    parameters = [
        parameter
        for operations in document["paths"].values()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
    ]

    assert len(parameters) > 20
    assert not [p["name"] for p in parameters if "null" in json.dumps(p["schema"])]
