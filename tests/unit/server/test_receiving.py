"""Endpoints that take telemetry in, over fakes: what they hand on, and how they refuse."""

from __future__ import annotations

import httpx
import pytest

from rag_monitor.errors import NotIngesting, QueueFull, StoreUnavailable
from rag_monitor.ingest.replies import RowError
from rag_monitor.server.services import Services
from tests.unit.server.fake_receiver import JsonReply


@pytest.mark.parametrize("prefix", ["/v1", "/api/public/otel/v1"])
@pytest.mark.parametrize("signal", ["traces", "logs"])
async def test_otlp_is_handed_to_the_receiver(
    client: httpx.AsyncClient, services: Services, prefix: str, signal: str
) -> None:
    headers = {"content-type": "application/x-protobuf"}

    answer = await client.post(f"{prefix}/{signal}", content=b"bytes", headers=headers)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-protobuf"
    assert services.receiver.received == [(signal, b"bytes", "default")]


async def test_metrics_are_accepted_and_ignored(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/v1/metrics", content=b"{}", headers={"content-type": "application/json"}
    )
    other = await client.post("/v1/metrics", content=b"", headers={"content-type": "text/plain"})

    assert (answer.status_code, answer.json()) == (200, {})
    assert other.status_code == 415


async def test_otlp_errors_are_a_status_in_the_encoding_of_the_request(
    client: httpx.AsyncClient, services: Services
) -> None:
    services.receiver.error = StoreUnavailable()

    as_json = await client.post(
        "/v1/traces", content=b"{}", headers={"content-type": "application/json"}
    )
    as_protobuf = await client.post(
        "/v1/traces", content=b"", headers={"content-type": "application/x-protobuf"}
    )

    assert as_json.status_code == as_protobuf.status_code == 503
    assert as_json.headers["retry-after"] == "5"
    assert as_json.json()["code"] == 14
    assert as_protobuf.headers["content-type"] == "application/x-protobuf"
    assert as_protobuf.content[:2] == b"\x08\x0e"


async def test_json_traces_are_taken(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/traces", json={"question": "q", "answer": "a"})

    assert answer.status_code == 200
    assert answer.json()["accepted"] == 1


async def test_json_of_which_nothing_was_taken_is_refused_with_the_reason(
    client: httpx.AsyncClient, services: Services
) -> None:
    services.receiver.json_reply = JsonReply(
        accepted=0, trace_ids=[], errors=[{"field": "question", "message": "is missing"}]
    )

    answer = await client.post("/api/v1/traces", json={"answer": "a"})

    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"field": "question", "message": "is missing"}]


async def test_a_row_that_was_not_taken_keeps_its_place_and_id(
    client: httpx.AsyncClient, services: Services
) -> None:
    wrong = [RowError(row=3, id=None, message="`answer` must be a string")]
    services.receiver.json_reply = JsonReply(errors=list(wrong))

    answer = await client.post("/api/v1/traces", json=[])

    assert answer.json()["errors"] == [
        {"row": 3, "id": None, "field": "", "message": "`answer` must be a string"}
    ]


async def test_json_in_another_type_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/api/v1/traces", content=b"x", headers={"content-type": "multipart/form-data"}
    )

    assert answer.status_code == 415
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_full_queue_asks_to_come_back(
    client: httpx.AsyncClient, services: Services
) -> None:
    services.receiver.error = QueueFull()

    answer = await client.post("/api/v1/traces", json={"question": "q"})

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"


async def test_a_process_that_takes_no_traces_says_which_does(
    client: httpx.AsyncClient, services: Services
) -> None:
    services.receiver.error = NotIngesting()

    answer = await client.post("/api/v1/traces", json={"question": "q"})

    assert answer.status_code == 503
    assert "`ingest`" in answer.json()["detail"]
