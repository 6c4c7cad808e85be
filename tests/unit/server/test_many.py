"""Pages of installations with many apps, many alerts and several judges."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rag_monitor.domain.alert import AlertState
from rag_monitor.server.context import Services
from rag_monitor.testing import EPOCH, make_trace
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import make_stored
from tests.unit.server.test_pages import HTML


@pytest.fixture
def many() -> Services:
    services = make_services()
    for number in range(30):
        trace = make_trace(app=f"app-{number:02d}", id=f"t{number}", started_at=EPOCH)
        services.traces.stored["default", trace.trace_id] = make_stored(trace)  # type: ignore[attr-defined]
    return services


async def test_alerts_do_not_push_the_numbers_off_the_overview(many: Services) -> None:
    alerts = many.alerts.alerts  # type: ignore[attr-defined]
    firing = next(alert for alert in alerts.values() if alert.state is AlertState.FIRING)
    for number in range(20):
        alerts[f"x{number}"] = replace(firing, id=f"x{number}", app=f"app-{number:02d}")
    async with open_client(many, headers=HTML) as client:
        text = (await client.get("/")).text

    assert text.count('<a class="banner"') == 6
    fire = sum(alert.state is AlertState.FIRING for alert in alerts.values())
    assert f'<a class="banner" href="/alerts">{fire - 5} more alerts fire</a>' in text


async def test_every_app_can_be_chosen_for_marking(many: Services) -> None:
    async with open_client(many, headers=HTML) as client:
        text = (await client.get("/labels", params={"app": "app-29"})).text

    assert "<option selected>app-29</option>" in text
    assert "<option>app-00</option>" in text


async def test_the_judges_page_says_how_many_apps_it_leaves_out(many: Services) -> None:
    async with open_client(many, headers=HTML) as client:
        text = (await client.get("/judges")).text

    assert "12 apps are left out" in text


async def test_a_metric_of_two_judges_is_offered_once_for_a_mark(services: Services) -> None:
    (key, stored), *_ = services.traces.stored.items()  # type: ignore[attr-defined]
    twice = replace(stored, scores=(*stored.scores, *stored.scores))
    services.traces.stored[key] = twice  # type: ignore[attr-defined]
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{key[1]}")).text

    offered = re.findall(r'<option value="(\w+)"', text)
    assert "faithfulness" in offered
    assert len(offered) == len(set(offered))


async def test_the_summary_of_one_app_is_there_however_many_there_are(services: Services) -> None:
    for number in range(201):
        trace = make_trace(app=f"app-{number:03}", id=f"t{number}", started_at=EPOCH)
        services.traces.stored["default", trace.trace_id] = make_stored(trace)  # type: ignore[attr-defined]
    async with open_client(services) as client:
        last = await client.get("/api/v1/summary", params={"app": "app-200"})
        everything = (await client.get("/api/v1/summary")).json()["apps"]

    assert [app["app"] for app in last.json()["apps"]] == ["app-200"]
    assert len(everything) == 200
