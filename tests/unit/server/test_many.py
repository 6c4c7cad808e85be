"""Pages of installations with many apps, many alerts and several judges."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rag_monitor.domain.alert import AlertState
from rag_monitor.server.services import Services
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


def crowd(services: Services, count: int) -> list[str]:
    """So many apps more, the later ones the busier."""
    names = [f"app-{number:03}" for number in range(count)]
    for number, name in enumerate(names):
        for copy in range(1 + number // 100):
            trace = make_trace(app=name, id=f"t{number}-{copy}", started_at=EPOCH)
            services.traces.stored["default", trace.trace_id] = make_stored(trace)  # type: ignore[attr-defined]
    return names


async def test_the_summary_of_one_app_is_there_however_many_there_are(services: Services) -> None:
    crowd(services, 201)
    async with open_client(services) as client:
        last = await client.get("/api/v1/summary", params={"app": "app-200"})

    assert [app["app"] for app in last.json()["apps"]] == ["app-200"]
    assert (last.json()["next"], last.json()["apps_folded"]) == (None, 0)


async def test_a_summary_of_many_apps_comes_in_pages_the_busiest_first(services: Services) -> None:
    known = {app.app for app in services.traces.apps("default")}
    names = crowd(services, 450)
    found: list[str] = []
    left: list[int] = []
    cursor: str | None = None
    async with open_client(services) as client:
        while True:
            given = {} if cursor is None else {"cursor": cursor}
            page = (await client.get("/api/v1/summary", params=given)).json()
            found += [app["app"] for app in page["apps"]]
            left.append(page["apps_folded"])
            cursor = page["next"]
            if cursor is None:
                break

    assert left == [252, 52, 0]
    assert sorted(found) == sorted([*names, *known]), "each app stands on one page"
    assert set(found[:200]) >= set(names[300:])


async def test_a_page_of_the_summary_may_be_small_and_its_cursor_must_be_ours(
    services: Services,
) -> None:
    crowd(services, 9)
    async with open_client(services) as client:
        page = await client.get("/api/v1/summary", params={"limit": 3})
        wrong = await client.get("/api/v1/summary", params={"cursor": "bad cursor"})

    assert len(page.json()["apps"]) == 3
    assert page.json()["apps_folded"] == 8
    assert wrong.status_code == 422
    assert "cursor" in wrong.json()["detail"]


async def test_the_overview_lists_the_busiest_apps_and_leads_to_the_others(
    services: Services,
) -> None:
    crowd(services, 250)
    async with open_client(services, headers=HTML) as client:
        first = (await client.get("/")).text
        address = re.search(r'href="(/\?after=[^"]+)" rel="next"', first)
        assert address is not None
        second = (await client.get(address[1].replace("&amp;", "&"))).text
        wrong = (await client.get("/?after=nonsense")).text

    def listed(text: str) -> set[str]:
        return set(re.findall(r'<th scope="row" class="wide"><a href="/\?app=(app-\d+)', text))

    assert "152 apps that are less busy" in first
    assert listed(first) >= {f"app-{n}" for n in range(200, 250)}
    assert len(listed(second)) >= 98
    assert not listed(first) & listed(second)
    assert "The busiest apps" in second
    assert "after=nonsense" in wrong
    assert listed(wrong) == listed(first)
