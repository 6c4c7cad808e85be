"""The OpenAPI document tells the truth."""

from __future__ import annotations

import json

import httpx
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError as SchemaMismatch

from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.trace import Expected
from rag_monitor.errors import MalformedPayload
from rag_monitor.ingest.trace_encoding import FIELDS, encode_trace, unknown_fields
from rag_monitor.ingest.trace_json import decode_trace
from rag_monitor.server.schemas.trace_json import TRACE_JSON
from rag_monitor.testing import make_trace

OPERATIONS = {
    ("post", "/v1/traces"),
    ("post", "/v1/logs"),
    ("post", "/v1/metrics"),
    ("post", "/api/v1/traces"),
    ("get", "/api/v1/traces"),
    ("get", "/api/v1/traces/{trace_id}"),
    ("post", "/api/v1/feedback"),
    ("get", "/api/v1/ratings/agreement"),
    ("get", "/api/v1/labels/waiting"),
    ("get", "/api/v1/labels"),
    ("get", "/api/v1/golden"),
    ("post", "/api/v1/labels"),
    ("delete", "/api/v1/users/{user_id}"),
    ("get", "/api/v1/summary"),
    ("get", "/api/v1/sessions"),
    ("get", "/api/v1/sessions/{session_id}"),
    ("get", "/api/v1/topics"),
    ("get", "/api/v1/topics/gaps.csv"),
    ("get", "/api/v1/series"),
    ("get", "/api/v1/faults"),
    ("get", "/api/v1/documents"),
    ("get", "/api/v1/documents.csv"),
    ("post", "/api/v1/documents/inventory"),
    ("delete", "/api/v1/documents/inventory"),
    ("get", "/api/v1/releases/compare"),
    ("get", "/api/v1/decisions/{trace_id}"),
    ("get", "/api/v1/rules"),
    ("put", "/api/v1/rules"),
    ("post", "/api/v1/rules/check"),
    ("get", "/api/v1/alerts"),
    ("get", "/api/v1/incidents"),
    ("get", "/api/v1/slos"),
    ("get", "/api/v1/incidents/{incident_id}"),
    ("post", "/api/v1/alerts/{alert_id}/acknowledge"),
    ("get", "/api/v1/silences"),
    ("post", "/api/v1/silences"),
    ("delete", "/api/v1/silences/{silence_id}"),
    ("put", "/api/v1/rules/window"),
    ("post", "/api/v1/evaluations"),
    ("get", "/api/v1/tasks/parked"),
    ("post", "/api/v1/tasks/retry"),
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


async def test_trace_json_is_described_field_by_field(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    body = document["paths"]["/api/v1/traces"]["post"]["requestBody"]["content"]["application/json"]
    described = document["components"]["schemas"]["TraceJson"]

    assert body["schema"]["anyOf"][0] == {"$ref": "#/components/schemas/TraceJson"}
    written_by_us = {
        *("trace_id", "project", "received_at", "revision", "convention", "attributes", "meta"),
        *("scores", "faults", "feedback", "decisions"),
    }
    assert set(described["properties"]) == FIELDS - written_by_us
    assert all(part["description"] for part in described["properties"].values())
    assert unknown_fields(body["example"]) == set()
    validator = Draft202012Validator(described)
    validator.validate(body["example"])
    trace = make_trace(
        hits=(Hit(kind=HitKind.PLUGIN, name="p", items=1),),
        expected=Expected(plugin=("p",), context_labels=(1, 0), relevant_ids={"d": 0.5}),
    )
    validator.validate(encode_trace(trace))


@pytest.mark.parametrize(
    "row",
    [
        {"question": 7, "answer": None},
        {"question": "q", "label": True, "label_faithful": "1.0", "tags": "one"},
        {"answer": "a", "relevant_ids": ["d", 1], "started_at": 1767614400},
        {"question": "q", "contexts": ["p"], "context_labels": [True, 0], "usage": None},
        {"question": "q", "hits": [{"kind": "workflow", "name": 5, "ok": 1}], "colour": "red"},
        {"question": "q", "retrievals": [{"documents": ["p", {"content": None}]}]},
    ],
)
def test_the_description_of_trace_json_is_not_narrower_than_what_is_taken(
    row: dict[str, object],
) -> None:
    decode_trace(row)
    Draft202012Validator(TRACE_JSON).validate(row)


@pytest.mark.parametrize(
    "row",
    [
        {"app": "a"},
        {"question": ["q"]},
        {"question": "q", "timings": {"first_byte_ms": "fast"}},
        {"question": "q", "hits": [{"name": "p"}]},
        {"question": "q", "status": "fine"},
        {"question": "q", "contexts": "p"},
        {"question": "q", "retrievals": [], "query": {}},
        {"question": "q", "knowledge_base": []},
        {"question": "q", "usage": {"input_tokens": -1}},
    ],
)
def test_what_is_refused_does_not_fit_the_description(row: dict[str, object]) -> None:
    with pytest.raises(MalformedPayload):
        decode_trace(row)
    with pytest.raises(SchemaMismatch):
        Draft202012Validator(TRACE_JSON).validate(row)


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
