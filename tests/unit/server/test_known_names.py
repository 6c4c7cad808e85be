"""Names of things that are not there: told at once, with the nearest one there is."""

from __future__ import annotations

import httpx
import pytest

ENDS = "2026-01-05T13:00:00Z"


@pytest.mark.parametrize(
    ("given", "field"),
    [({"rule": "faithfulnes drop"}, "rule"), ({"app": "loan-asistant"}, "app")],
)
async def test_a_silence_that_would_match_nothing_is_refused(
    client: httpx.AsyncClient, given: dict[str, str], field: str
) -> None:
    answer = await client.post("/api/v1/silences", json=given | {"ends_at": ENDS})

    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(f"`{field}`: there is no {field}")
    assert (await client.get("/api/v1/silences")).json()["silences"] == []


async def test_the_nearest_app_is_named(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/silences", json={"app": "loan-asistant", "ends_at": ENDS})

    assert "'loan-assistant'" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["series?app=loan-assistant&", "traces?"])
async def test_a_metric_that_is_none_is_refused(client: httpx.AsyncClient, path: str) -> None:
    wrong = await client.get(f"/api/v1/{path}metric=fatihfulness")
    right = await client.get(f"/api/v1/{path}metric=faithfulness")

    assert (wrong.status_code, right.status_code) == (422, 200)
    assert "'faithfulness'" in wrong.json()["detail"]


async def test_two_releases_are_compared_in_words_and_numbers(client: httpx.AsyncClient) -> None:
    where = "/api/v1/releases/compare?app=loan-assistant&release=2.1.0&against="

    found = (await client.get(where + "2.0.3")).json()["changes"]
    wrong = await client.get(where + "2.0.4")

    change = next(item for item in found if item["metric"] == "faithfulness")
    assert change["sentence"].startswith("faithfulness, 2.1.0 against 2.0.3: ")
    assert "95% interval" in change["sentence"]
    assert change["lower"] <= change["value"] <= change["upper"]
    assert (change["first"]["release"], change["second"]["release"]) == ("2.1.0", "2.0.3")
    assert wrong.status_code == 422
    assert "'2.0.3'" in wrong.json()["detail"]
