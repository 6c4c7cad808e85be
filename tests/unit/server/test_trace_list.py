"""Finding one trace: by its id, the sender's own, or a text of its answer or its passages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence

import httpx
import pytest

from rag_monitor.domain.stored import AppSummary
from rag_monitor.server.services import Services
from rag_monitor.server.ui.question_title import around
from rag_monitor.testing import EPOCH, make_trace
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import make_stored
from tests.unit.server.test_pages import HTML
from tests.unit.server.unfinished_search import unfinished


@pytest.fixture
def services() -> Services:
    services = make_services(empty=True)
    for trace in (
        make_trace("退款没到账?", "请查收支付宝账户。" + "好" * 400, ("七个工作日",), id="DD-77"),
        make_trace("When?", "y" * 900 + " at noon " + "z" * 900, ("Open <b>daily</b>",), id="8"),
    ):
        services.traces.stored["default", trace.trace_id] = make_stored(trace)  # type: ignore[attr-defined]
    return services


@pytest.mark.parametrize(
    "query", [{}, {"q": "refund"}, {"q": "DD-77"}, {"q": "nothing", "app": "shpo", "release": "9"}]
)
async def test_the_apps_are_asked_for_once(
    services: Services, query: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    apps = services.traces.apps

    def counted(project: str) -> Sequence[AppSummary]:
        asked.append(project)
        return apps(project)

    monkeypatch.setattr(services.traces, "apps", counted)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/traces", params=query)).text

    assert "<h1>" in text
    assert asked == ["default"]


async def test_the_id_of_a_trace_opens_it(services: Services) -> None:
    (_, trace_id), *_ = services.traces.stored  # type: ignore[attr-defined]
    async with open_client(services, headers=HTML) as client:
        there = await client.get("/traces", params={"q": f" {trace_id.upper()} "})
        nowhere = await client.get("/traces", params={"q": "0" * 31 + "1"})

    assert (there.status_code, there.headers["location"]) == (303, f"/traces/{trace_id}")
    assert nowhere.status_code == 200
    assert "No trace matches" in nowhere.text


async def test_the_id_that_the_sender_gave_names_the_trace(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        named = (await client.get("/traces", params={"q": "DD-77"})).text
        other_app = (await client.get("/traces", params={"q": "DD-77", "app": "other"})).text

    assert "A trace has this id:" in named
    assert "退款没到账?</a>" in named
    assert "No trace matches" not in named
    assert "A trace has this id:" not in other_app


async def test_answers_and_passages_are_searched_where_questions_hold_nothing(
    services: Services,
) -> None:
    async with open_client(services, headers=HTML) as client:
        nothing = (await client.get("/traces", params={"q": "支付宝", "app": "test-app"})).text
        answers = (await client.get("/traces", params={"q": "支付宝", "in": "answer"})).text
        passages = (await client.get("/traces", params={"q": "daily", "in": "passages"})).text
        wrong = (await client.get("/traces", params={"q": "支付宝", "in": "<b>"})).text

    assert "in=answer" in nothing
    assert "in=passages" in nothing
    assert "app=test-app" in nothing
    assert "退款没到账?" in answers
    assert '<option value="answer" selected>' in answers
    assert "When?" in passages
    assert "Cannot be applied: <code>in=&lt;b&gt;</code>" in wrong


async def test_the_traces_of_a_user_are_one_click_from_a_trace(services: Services) -> None:
    trace = make_trace("theirs", id="9", user_id="u <7> & co")
    services.traces.stored["default", trace.trace_id] = make_stored(trace)  # type: ignore[attr-defined]
    async with open_client(services, headers=HTML) as client:
        shown = (await client.get(f"/traces/{trace.trace_id}")).text
        listed = (await client.get("/traces", params={"user": "u <7> & co"})).text

    assert 'href="/traces?user=u+%3C7%3E+%26+co">u &lt;7&gt; &amp; co</a>' in shown
    assert re.findall(r'<span class="question">([^<]+)<', listed) == ["theirs"]
    assert 'name="user" value="u &lt;7&gt; &amp; co"' in listed


async def test_a_row_shows_the_place_of_the_answer_that_was_looked_for(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/traces", params={"q": "AT NOON", "in": "answer"})).text

    assert "at noon" in text


async def test_a_search_that_did_not_reach_the_end_says_so_and_goes_on(services: Services) -> None:
    async with open_client(unfinished(services), headers=HTML) as client:
        text = (await client.get("/traces", params={"q": "nothing", "in": "answer"})).text

    assert "Nothing found so far." in text
    assert f"back to {EPOCH:%Y-%m-%d %H:%M:%S}" in text
    assert "in=answer&amp;cursor=0" in text
    assert "Look further back" in text


def test_a_piece_of_a_text_holds_what_was_looked_for() -> None:
    assert around("short and whole", "whole", 100) == "short and whole"
    assert around("a" * 500 + " Needle " + "b" * 500, "needle", 60) == (
        "…" + "a" * 19 + " Needle " + "b" * 33 + "…"
    )
    assert around(None, "x", 60) == ""
    assert around("no such thing " * 20, "needle", 30) == "no such thing no such thing no…"


@pytest.fixture
async def browser() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(make_services(), headers=HTML) as client:
        yield client


async def test_a_row_of_a_chart_leads_to_the_traces_of_its_time(
    browser: httpx.AsyncClient,
) -> None:
    answer = await browser.get("/traces?app=a%26b&sort=latency&during=1767616200-1767616800")

    assert answer.status_code == 303
    assert answer.headers["location"] == (
        "/traces?app=a%26b&sort=latency&from=2026-01-05T12%3A30Z&to=2026-01-05T12%3A40Z"
    )


@pytest.mark.parametrize("nonsense", ["", "1-", "a-b", "1767616200-1767616800-1", "9" * 12 + "-1"])
async def test_another_time_is_no_time(browser: httpx.AsyncClient, nonsense: str) -> None:
    assert (await browser.get(f"/traces?during={nonsense}")).status_code == 200


async def test_the_last_second_there_is_leads_somewhere(browser: httpx.AsyncClient) -> None:
    answer = await browser.get(f"/traces?during=0-{'9' * 11}")

    assert answer.status_code == 303
    assert (await browser.get(answer.headers["location"])).status_code == 200


@pytest.mark.parametrize("path", ["/traces", "/sessions", "/documents"])
async def test_filters_fold_and_those_that_hold_stay_in_sight(path: str) -> None:
    async with open_client(make_services(), headers=HTML) as client:
        plain = (await client.get(path)).text
        text = (await client.get(path, params={"app": "support-bot"})).text

    folded = text.split('<details class="fold">')[1].split("</form>")[0]
    assert 'name="app"' in folded
    assert "<summary>Filters</summary>" in plain
    assert "<summary>Filters (1)</summary>" in text
    assert '<ul class="applied"' in text.split("</form>", 1)[1]


async def test_a_layout_is_no_view_to_keep() -> None:
    async with open_client(make_services(), headers=HTML) as client:
        table = (await client.get("/traces", params={"view": "table"})).text
        filtered = (await client.get("/traces", params={"view": "table", "status": "error"})).text

    assert "saveview" not in table
    assert "saveview" in filtered
    assert '<details class="fold"><summary>Save view</summary>' in filtered
