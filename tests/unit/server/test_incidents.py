"""Incidents as the API tells them and as the Alerts page shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML


@pytest.fixture
async def browser(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(services, headers=HTML) as client:
        yield client


async def test_incidents_are_listed_with_their_story(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/api/v1/incidents")).json()

    first, second = answer["incidents"]
    assert first["sentences"][0].startswith("First: faithfulness drop, broke at ")
    assert first["story"]["faults"][0]["stage"] == "generation"
    assert first["story"]["concentrations"][0]["value"] == "v43<script>"
    assert first["story"]["examples"][0]["evidence"][0]["text"] == "It is <b>36</b> months."
    assert first["next_path"] == "/compare?app=loan-assistant&a=v42&b=v43%3Cscript%3E"
    assert first["alerts"][0]["runbook_url"] == "/runbooks#drop"
    assert (second["story"], second["next_path"]) == (None, None)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"state": "open"}, ["in-1"]),
        ({"state": "ended"}, ["in-2"]),
        ({"app": "support-bot"}, ["in-2"]),
        ({"limit": "1"}, ["in-1"]),
        ({"app": "loan-assistent"}, []),
    ],
)
async def test_incidents_are_found_by_app_and_state(
    client: httpx.AsyncClient, query: dict[str, str], ids: list[str]
) -> None:
    answer = (await client.get("/api/v1/incidents", params=query)).json()

    assert [one["id"] for one in answer["incidents"]] == ids
    assert bool(answer["hints"]) == (not ids)


async def test_one_incident_is_told_in_the_language_asked_for(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/incidents/in-1", headers={"Accept-Language": "zh"})

    assert any("编造" in sentence for sentence in answer.json()["sentences"])
    assert (await client.get("/api/v1/incidents/in-9")).status_code == 404
    assert (await client.get("/api/v1/incidents?state=odd")).status_code == 422


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["Invented (Generation): 4.0% → 31.0%", "94% of the bad answers", "Next step"]),
        ("zh", ["编造（生成）", "占不良回答的 94%", "下一步"]),
    ],
)
async def test_the_alerts_page_tells_the_story_and_leads_on(
    browser: httpx.AsyncClient, services: Services, language: str, words: list[str]
) -> None:
    text = (await browser.get("/alerts", headers={"Accept-Language": language})).text

    assert [word for word in words if word not in text] == []
    example = services.incidents.get("default", "in-1").story.examples[0]  # type: ignore[union-attr]
    assert f'href="/traces/{example.trace_id}">How &lt;i&gt;long&lt;/i&gt;?</a>' in text
    assert "It is &lt;b&gt;36&lt;/b&gt; months." in text
    assert "v43&lt;script&gt;" in text
    assert "v43<script>" not in text
    assert 'id="incident-in-1"' in text
    assert 'href="#incident-in-1"' in text
    assert 'href="/compare?app=loan-assistant&amp;a=v42&amp;b=v43%3Cscript%3E"' in text


async def test_a_page_of_one_app_shows_its_incidents_alone(browser: httpx.AsyncClient) -> None:
    assert "in-1" not in (await browser.get("/alerts?app=support-bot")).text
