"""Marks and ratings over HTTP."""

from __future__ import annotations

import httpx
import pytest

from rag_monitor.server.services import Services
from tests.unit.server.test_api import first_id


async def test_a_mark_is_stored(client: httpx.AsyncClient, services: Services) -> None:
    body = {"trace_id": (await first_id(client)).upper(), "value": 0, "metric": "faithfulness"}

    answer = await client.post("/api/v1/feedback", json=body)

    assert answer.status_code == 201
    assert services.feedback.marks[0].value == 0
    assert services.feedback.marks[0].trace_id == body["trace_id"].lower()


@pytest.mark.parametrize(
    "body",
    [
        '{"trace_id": "%s", "value": NaN}',
        '{"trace_id": "%s", "value": 1e308}',
        '{"trace_id": "%s", "value": -1}',
        '{"trace_id": "%s", "value": "0.9"}',
        '{"trace_id": "%s", "value": 4}',
        '{"trace_id": "%s", "value": "good"}',
        '{"trace_id": "%s", "value": true, "scale": 5}',
        '{"trace_id": "%s", "value": 6, "scale": 5}',
        '{"trace_id": "%s", "value": 1, "scale": 1}',
        '{"trace_id": "%s", "scale": 5}',
        '{"trace_id": "%s", "value": [1]}',
        '{"trace_id": "%s", "value": 1, "statement": 1180591620717411303424}',
        '{"trace_id": "%s", "value": 1, "colour": "red"}',
        '{"trace_id": "%s", "value": 1, "comment": "\\ud800"}',
        '["%s"]',
        "null",
    ],
)
async def test_a_wrong_mark_is_refused(client: httpx.AsyncClient, body: str) -> None:
    text = body % ("a" * 32) if "%s" in body else body

    answer = await client.post(
        "/api/v1/feedback", content=text, headers={"content-type": "application/json"}
    )

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("body", ['{"trace_id": ', "[" * 100_000])
async def test_a_body_that_is_not_json_is_a_bad_request(
    client: httpx.AsyncClient, body: str
) -> None:
    answer = await client.post(
        "/api/v1/feedback", content=body, headers={"content-type": "application/json"}
    )

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        ({"value": True}, "thumb", 1.0),
        ({"value": False}, "thumb", 0.0),
        ({"value": "up"}, "thumb", 1.0),
        ({"value": "thumbs_down"}, "thumb", 0.0),
        ({"value": 4, "scale": 5}, "scale", 0.75),
        ({"value": 1, "scale": 5}, "scale", 0.0),
        ({"value": 0.25}, "number", 0.25),
    ],
)
async def test_a_rating_keeps_its_form(
    client: httpx.AsyncClient,
    services: Services,
    given: dict[str, object],
    kind: str,
    value: float,
) -> None:
    correction = {"corrected_answer": "4.5 %", "correct_document_ids": ["rates", "rates", "fees"]}

    answer = await client.post(
        "/api/v1/feedback", json={"trace_id": "b" * 32, **given, **correction}
    )

    (mark,) = services.feedback.marks
    assert (mark.kind, mark.value, mark.metric) == (kind, value, None)
    out = answer.json()
    assert (out["kind"], out["value"], out["scale"]) == (kind, value, given.get("scale"))
    assert out["raw_value"] == given["value"]
    assert type(out["raw_value"]) is type(given["value"])
    assert out["corrected_answer"] == "4.5 %"
    assert out["correct_document_ids"] == ["rates", "fees"]


async def test_a_mark_on_a_metric_is_no_rating(
    client: httpx.AsyncClient, services: Services
) -> None:
    body = {"trace_id": "b" * 32, "value": True, "metric": "faithfulness"}

    answer = await client.post("/api/v1/feedback", json=body)

    assert answer.status_code == 201
    (mark,) = services.feedback.marks
    assert (mark.kind, mark.raw_value, mark.value) == (None, None, 1.0)


@pytest.mark.parametrize(("statement", "kept"), [({"statement": 0}, True), ({}, False)])
async def test_a_mark_on_one_statement_leaves_the_trace_with_its_reviewer(
    client: httpx.AsyncClient, services: Services, statement: dict[str, int], kept: bool
) -> None:
    trace_id = await first_id(client)
    services.label_queue.claimed.append(("Amy", trace_id))  # type: ignore[attr-defined]
    body = {"trace_id": trace_id, "value": 0, "metric": "faithfulness", "author": "Amy"}

    answer = await client.post("/api/v1/feedback", json=body | statement)

    assert answer.status_code == 201
    claimed = services.label_queue.claimed  # type: ignore[attr-defined]
    assert (("Amy", trace_id) in claimed) == kept


async def test_a_star_without_a_scale_is_not_guessed_at(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/feedback", json={"trace_id": "b" * 32, "value": 4})

    assert answer.status_code == 422
    assert "a `value` above 1 needs its `scale`: `scale=5` for 1 to 5" in answer.text


async def test_a_mark_may_overtake_its_trace(client: httpx.AsyncClient, services: Services) -> None:
    answer = await client.post("/api/v1/feedback", json={"trace_id": "b" * 32, "value": 1})

    assert answer.status_code == 201
    assert services.feedback.marks[0].trace_id == "b" * 32
