"""Saved views, dry runs, and the overview of many apps."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import quote

import httpx
import pytest

from rag_monitor.alerting.replay import AppReplay, Episode, Replay, ReplayBounds
from rag_monitor.domain.alert import AlertRule, Finding
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH, make_trace
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import make_stored
from tests.unit.server.test_pages import HTML, token_of


async def save(client: httpx.AsyncClient, name: str, **filters: str) -> httpx.Response:
    token = token_of((await client.get("/alerts")).text)
    return await client.post("/ui/views", data={"token": token, "name": name, **filters})


async def test_a_view_is_saved_opened_and_forgotten(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        saved = await save(client, "贷款 <差>", app="loan-assistant", metric="faithfulness")
        listed = (await client.get("/traces")).text
        opened = (await client.get(saved.headers["location"])).text
        token = token_of(listed)
        await client.post("/ui/views/delete", data={"token": token, "name": "贷款 <差>"})
        after = (await client.get("/traces")).text

    assert saved.status_code == 303
    assert saved.headers["location"] == "/traces?app=loan-assistant&metric=faithfulness"
    assert "HttpOnly" in saved.headers["set-cookie"]
    assert "贷款 &lt;差&gt;</a>" in listed
    assert 'aria-current="true">贷款' in opened
    assert "贷款 &lt;差&gt;" not in after


async def test_views_beyond_what_a_cookie_holds_push_out_the_oldest(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        for number in range(15):
            await save(client, f"view {number}", q="长" * 90)
        text = (await client.get("/traces")).text

    assert "view 14</a>" in text
    assert "view 0</a>" not in text
    assert max(len(value) for value in client.cookies.values()) < 4000


@pytest.mark.parametrize("cookie", ["x", "bnVsbA==", "WzEsMl0=", "W3sibmFtZSI6IDF9XQ==", "%%%"])
async def test_a_cookie_that_makes_no_sense_has_no_views(services: Services, cookie: str) -> None:
    async with open_client(services, headers=HTML) as client:
        answer = await client.get("/traces", headers={"cookie": f"rag_monitor_views={cookie}"})

    assert answer.status_code == 200
    assert 'class="own"' not in answer.text


def trying(services: Services) -> Services:
    """Services whose rules can be tried."""

    def replay(
        rule: AlertRule, since: datetime, until: datetime, bounds: ReplayBounds | None = None
    ) -> Replay:
        episode = Episode(
            app="loan-assistant", fired_at=EPOCH, resolved_at=None, summary="faithfulness fell"
        )
        app = AppReplay(looks=288, untold=12, episodes=(episode,))
        return Replay(since=since, until=until, every=timedelta(minutes=5), apps={rule.app: app})

    finding = Finding(active=True, value=0.61, baseline=0.9, judged=200, summary="fell <b>")
    return replace(services, try_rule=lambda rule: {"loan-assistant": finding}, replay_rule=replay)


async def test_a_saved_rule_is_tried_and_nothing_is_changed(services: Services) -> None:
    before = dict(services.rules.rules)  # type: ignore[attr-defined]
    async with open_client(trying(services), headers=HTML) as client:
        token = token_of((await client.get("/alerts")).text)
        form = {"token": token, "name": "faithfulness drop", "days": "7"}
        now_and_then = (await client.post("/ui/rules/try", data=form)).text
        unknown = await client.post("/ui/rules/try", data=form | {"name": "nothing"})

    assert "would fire" in now_and_then
    assert "fell &lt;b&gt;" in now_and_then
    assert "Faithfulness fell" in now_and_then
    assert "still fires" in now_and_then
    assert unknown.status_code == 404
    assert services.rules.rules == before  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("untold", "said"), [(288, "It could not have fired: at no look"), (287, "It would not have")]
)
async def test_a_rule_that_could_never_tell_is_not_called_quiet(
    services: Services, untold: int, said: str
) -> None:
    def replay(
        rule: AlertRule, since: datetime, until: datetime, bounds: ReplayBounds | None = None
    ) -> Replay:
        app = AppReplay(looks=288, untold=untold, episodes=())
        return Replay(since=since, until=until, every=timedelta(minutes=5), apps={rule.app: app})

    chosen = replace(trying(services), replay_rule=replay)
    async with open_client(chosen, headers=HTML) as client:
        token = token_of((await client.get("/alerts")).text)
        form = {"token": token, "name": "faithfulness drop", "days": "1"}
        text = (await client.post("/ui/rules/try", data=form)).text

    assert said in text


async def test_a_rule_is_tried_before_it_is_saved(services: Services) -> None:
    async with open_client(trying(services), headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "new", "kind": "threshold", "metric": "faithfulness"}
        refused = await client.post("/ui/rules/try", data=form)
        tried = await client.post("/ui/rules/try", data=form | {"params.threshold.limit": "0.7"})

    assert refused.status_code == 422
    assert (tried.status_code, "new" in services.rules.rules) == (200, False)  # type: ignore[attr-defined]


async def test_many_apps_are_a_list_and_one_of_them_a_page() -> None:
    services = make_services()
    for number in range(60):
        trace = make_trace(app=f"app-{number:02d}", id=f"t{number}", started_at=EPOCH)
        services.traces.stored["default", trace.trace_id] = make_stored(trace)  # type: ignore[attr-defined]
    async with open_client(services, headers=HTML) as client:
        every = await client.get("/")
        single = await client.get("/", params={"app": "app-07"})

    assert every.text.count('class="short"') == 62 * 3
    assert every.text.count('<svg class="spark"') == 62
    assert "data-chart" not in every.text
    assert len(every.content) < 200_000
    assert single.text.count("data-chart=") >= 10


async def test_alerts_of_other_apps_stay_off_the_page_of_an_app(services: Services) -> None:
    async with open_client(services, headers=HTML) as client:
        theirs = (await client.get("/", params={"app": "loan-assistant"})).text
        others = (await client.get("/", params={"app": "support-bot"})).text
        listed = (await client.get("/alerts", params={"app": "support-bot"})).text

    assert "fell from 0.91" in theirs
    assert "fell from 0.91" not in others
    assert "fell from 0.91" not in listed
    assert quote("support-bot") in listed


async def test_machine_words_are_spoken_in_both_languages(services: Services) -> None:
    trace_id = next(iter(services.traces.stored))[1]  # type: ignore[attr-defined]
    async with open_client(services, headers=HTML) as client:
        chinese = (await client.get(f"/traces/{trace_id}?lang=zh")).text
        alerts = (await client.get("/alerts?lang=zh")).text

    assert "数字与片段不符" in chinese
    assert "评审超时：评审模型在 30.0 秒内没有应答" in chinese
    assert "number_mismatch" not in chinese
    assert "忠实度下降" in alerts


async def test_judges_of_other_processes_are_known_by_their_scores(services: Services) -> None:
    elsewhere = replace(services, judges=tuple)
    async with open_client(elsewhere, headers=HTML) as client:
        text = (await client.get("/judges")).text

    assert "embedded/full/3f9a/v1" in text
    assert "No judge is configured" not in text
    assert '<svg class="reliability"' in text


async def test_a_few_marks_do_not_make_a_judge_look_proven(services: Services) -> None:
    rows = services.feedback.against_scores("default", EPOCH, EPOCH)[:8]
    services.feedback.against_scores = lambda *_: rows
    services.feedback.newest_marks = lambda *_: {}
    async with open_client(replace(services, judges=tuple), headers=HTML) as client:
        text = (await client.get("/judges")).text

    assert "4 marked by people" in text
    assert "Too few to say how well they agree" in text
    assert "Cohen" not in text
    assert ">unverified</span>" in text


@pytest.mark.parametrize("path", ["/", "/traces", "/alerts", "/judges", "/settings", "/compare"])
async def test_no_two_parts_of_a_page_share_an_id(services: Services, path: str) -> None:
    async with open_client(trying(services), headers=HTML) as client:
        ids = re.findall(r'\sid="([^"]+)"', (await client.get(path)).text)

    assert len(ids) == len(set(ids))
