"""Light or dark, and the time zone: chosen on a page, kept in a cookie."""

from __future__ import annotations

import pytest

from rag_monitor.server.ui.display import way_back
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML, token_of


async def test_theme_and_zone_are_kept_and_lead_back_to_the_page() -> None:
    async with open_client(make_services(), headers=HTML) as client:
        page = (await client.get("/alerts?app=loan-assistant")).text
        assert "data-theme" not in page
        assert 'name="back" value="/alerts?app=loan-assistant"' in page
        form = {"token": token_of(page), "theme": "dark", "zone": "Asia/Shanghai"}
        answer = await client.post(
            "/ui/display", data=form | {"back": "/alerts?app=loan-assistant"}
        )
        changed = (await client.get("/alerts")).text
        await client.post("/ui/display", data=form | {"theme": "", "zone": ""})
        again = (await client.get("/alerts")).text

    assert (answer.status_code, answer.headers["location"]) == (303, "/alerts?app=loan-assistant")
    assert '<html lang="en" data-theme="dark">' in changed
    assert "Times are in Asia/Shanghai" in changed
    assert "data-theme" not in again
    assert "Times are in UTC" in again


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("zone", "Mars/Base", "There is no time zone Mars/Base"), ("theme", "pink", "A theme is")],
)
async def test_what_there_is_not_is_refused_with_a_reason(
    field: str, value: str, said: str
) -> None:
    async with open_client(make_services(), headers=HTML) as client:
        token = token_of((await client.get("/")).text)
        answer = await client.post("/ui/display", data={"token": token, field: value})

    assert answer.status_code == 422
    assert said in answer.text


async def test_a_cookie_that_somebody_made_up_changes_nothing() -> None:
    cookies = {"rag_monitor_theme": '"><script>', "rag_monitor_zone": "../../etc/passwd"}
    async with open_client(make_services(), headers=HTML, cookies=cookies) as client:
        page = (await client.get("/")).text

    assert "data-theme" not in page
    assert "Times are in UTC" in page


@pytest.mark.parametrize(
    ("address", "leads_to"),
    [
        ("/traces?app=a", "/traces?app=a"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("", "/"),
    ],
)
def test_the_way_back_stays_on_this_server(address: str, leads_to: str) -> None:
    assert way_back(address) == leads_to
