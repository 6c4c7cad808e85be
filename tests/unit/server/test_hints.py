"""An answer that is empty because of a misspelt filter says so; others are left alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import JUDGE

SERIES = "series?app=loan-assistant&metric=faithfulness"


async def hints(client: httpx.AsyncClient, path: str) -> list[str]:
    answer = await client.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    found: list[str] = answer.json()["hints"]
    return found


@pytest.mark.parametrize(
    ("path", "field", "near"),
    [
        ("traces?app=loan-asistant", "app", "loan-assistant"),
        ("traces?app=Loan-Assistant", "app", "loan-assistant"),
        ("traces?release=2.1.00", "release", "2.1.0"),
        ("traces?app=loan-assistant&release=2.O.3", "release", "2.0.3"),
        ("alerts?app=loan-asistant", "app", "loan-assistant"),
        ("labels/waiting?app=loan-asistant", "app", "loan-assistant"),
        (f"{SERIES}&judge=combinde&window=1h&to=2024-01-01T00:00:00Z", "judge", "combined"),
    ],
)
async def test_a_name_that_nothing_has_is_told_with_the_nearest(
    client: httpx.AsyncClient, path: str, field: str, near: str
) -> None:
    (hint,) = await hints(client, path)

    assert hint.startswith(f"`{field}`: nothing stored here has {field} ")
    assert hint.endswith(f"Did you mean {near!r}?")


async def test_the_name_of_a_judge_leads_to_its_identity(client: httpx.AsyncClient) -> None:
    name = JUDGE.name

    for wanted in (name, name.upper(), name[:-1]):
        (hint,) = await hints(client, f"{SERIES}&judge={wanted}&to=2024-01-01T00:00:00Z")
        assert hint.endswith(f"Did you mean {str(JUDGE)!r}?")


async def test_where_nothing_is_near_the_few_there_are_are_told(client: httpx.AsyncClient) -> None:
    (hint,) = await hints(client, "traces?app=xyz")

    assert hint == (
        "`app`: nothing stored here has app 'xyz'. There are 'loan-assistant', 'support-bot'."
    )


@pytest.mark.parametrize(
    "path",
    [
        "traces",
        "traces?app=loan-assistant",
        "traces?q=nothing+like+this+was+asked",
        "traces?app=loan-assistant&release=2.0.3&q=nothing+like+this",
        "alerts?app=loan-assistant&state=pending",
        "labels/waiting",
        SERIES,
        "summary",
        "summary?app=loan-assistant&release=2.1.0",
    ],
)
async def test_other_answers_hint_at_nothing(client: httpx.AsyncClient, path: str) -> None:
    assert await hints(client, path) == []


async def test_a_store_without_traces_names_nothing_else() -> None:
    async with open_client(make_services(empty=True)) as client:
        assert await hints(client, "traces?app=mine") == [
            "`app`: nothing stored here has app 'mine'."
        ]


async def test_an_app_that_sent_nothing_is_told_with_the_nearest(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/summary?app=loan-asistant")

    assert answer.status_code == 404
    assert answer.json()["detail"].endswith("Did you mean 'loan-assistant'?")


async def test_a_backfill_of_nothing_says_why(
    client: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    preview: Any = services.evaluations.preview

    def none(request: Any) -> Any:
        return replace(preview(request), traces=0)

    monkeypatch.setattr(services.evaluations, "preview", none)

    answer = await client.post("/api/v1/evaluations", json={"app": "loan-asistant"})

    assert "Did you mean 'loan-assistant'?" in answer.json()["hints"][0]


@pytest.mark.parametrize("path", ["/traces", "/labels", "/alerts", "/"])
async def test_the_pages_lead_to_the_app_that_was_meant(
    client: httpx.AsyncClient, path: str
) -> None:
    english = (await client.get(f"{path}?app=loan-asistant")).text
    chinese = (await client.get(f"{path}?app=loan-asistant&lang=zh")).text
    right = (await client.get(f"{path}?app=loan-assistant")).text

    assert f'<a href="{path}?app=loan-assistant">Did you mean loan-assistant?</a>' in english
    assert "没有属于应用 loan-asistant 的请求" in chinese
    assert "是不是要找 loan-assistant？" in chinese
    assert "banner hint" not in right


async def test_a_comparison_of_another_app_than_asked_for_says_so(
    client: httpx.AsyncClient,
) -> None:
    wrong = (await client.get("/compare?app=support-bto&window=1h")).text
    right = (await client.get("/compare?app=support-bot&a=none&window=1h")).text

    assert "No stored trace has the app support-bto." in wrong
    assert 'href="/compare?window=1h&amp;app=support-bot"' in wrong
    assert "banner hint" not in right


async def test_the_list_keeps_its_other_filters(client: httpx.AsyncClient) -> None:
    text = (await client.get("/traces?app=loan-assistant&release=2.1.O&status=ok")).text

    assert "No stored trace has the release 2.1.O." in text
    assert 'href="/traces?app=loan-assistant&amp;release=2.1.0&amp;status=ok"' in text
