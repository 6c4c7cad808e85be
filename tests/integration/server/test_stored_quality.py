"""From stored traces to what the API answers about a window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from rag_monitor.domain.judgement import Judgement, JudgeRequest
from rag_monitor.server.services import Services
from rag_monitor.testing import ManualClock, ScriptedJudge
from tests.integration.test_worker import House
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services

DECLINES = "I cannot answer that."


@pytest.fixture
def house(database_url: str) -> Iterator[House]:
    def answer(request: JudgeRequest) -> Judgement:
        return Judgement(
            identity=judge.identity,
            missing=dict.fromkeys(request.aspects, "no_verdict"),
            refusal=request.answer == DECLINES,
        )

    judge = ScriptedJudge(answer)
    built = House(database_url, judge)
    yield built
    built.close()


def over(house: House) -> Services:
    clock = ManualClock(house.clock.now() + timedelta(minutes=1))
    fakes = make_services(clock=clock)
    return replace(fakes, traces=house.store.traces, estimates=house.estimates, clock=clock)


async def get(services: Services, path: str, **query: Any) -> Any:
    async with open_client(services) as client:
        answer: httpx.Response = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_how_often_answers_decline_reaches_summary_series_and_pages(house: House) -> None:
    await house.take(45, release="v1")
    await house.take(15, first=45, answer=DECLINES, release="v2")
    await house.work()
    services = over(house)

    summary = await get(services, "/api/v1/summary", window="1h")
    series = await get(
        services, "/api/v1/series", app="shop", metric="refusal_rate", window="1h", step="1h"
    )
    compared = await get(
        services, "/api/v1/releases/compare", app="shop", release="v2", against="v1", window="1h"
    )

    (shop,) = summary["apps"]
    shown = {metric["metric"]: metric["value"] for metric in shop["metrics"]}
    assert shown["refusal_rate"] == 0.25
    assert [point["value"] for point in series["points"] if point["judged"]] == [0.25]
    changes = {change["metric"]: change["value"] for change in compared["changes"]}
    assert changes["refusal_rate"] == 1.0
    async with open_client(services) as client:
        for path in ("/?window=1h", "/compare?app=shop&window=1h"):
            assert "Refusal rate" in (await client.get(path)).text, path


async def test_a_series_of_an_app_that_never_sent_anything_is_not_found(house: House) -> None:
    await house.take(1)
    await house.work()

    async with open_client(over(house)) as client:
        query = {"metric": "faithfulness", "window": "1h"}
        unknown = await client.get("/api/v1/series", params={"app": "shopp", **query})
        known = await client.get("/api/v1/series", params={"app": "shop", **query})

    assert (unknown.status_code, known.status_code) == (404, 200)
    detail = "No app named 'shopp' has sent traces. Did you mean 'shop'?"
    assert unknown.json()["detail"] == detail


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("traces?app=shopp", "shop"),
        ("alerts?app=shopp", "shop"),
        ("labels/waiting?app=shopp", "shop"),
        ("traces?app=shop&release=none", None),
        ("summary?app=shop&release=none", None),
    ],
)
async def test_a_name_that_no_stored_trace_has_is_told(
    house: House, path: str, near: str | None
) -> None:
    await house.take(1)
    await house.work()

    async with open_client(over(house)) as client:
        (hint,) = (await client.get(f"/api/v1/{path}")).json()["hints"]

    assert "nothing stored here has" in hint
    assert near is None or hint.endswith(f"Did you mean {near!r}?")
