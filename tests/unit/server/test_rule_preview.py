"""What a rule would have done, shown while it is written: as the dry run says it, and bounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import pytest

from rag_monitor.alerting.replay import AppReplay, Episode, Replay, ReplayBounds, replay
from rag_monitor.alerting.rules import check_rule
from rag_monitor.domain.alert import AlertRule
from rag_monitor.domain.stored import KeyScope
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.services import Services
from rag_monitor.server.ui import rule_preview
from rag_monitor.testing import EPOCH
from tests.unit.alerting.fakes import FakeEstimates, estimate
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML, token_of

RULE = {
    "name": "low",
    "kind": "threshold",
    "metric": "faithfulness",
    "window_s": "1 h",
    "hold_for_s": "10 min",
    "params.threshold.below": "80 %",
}
JSON = {
    "name": "low",
    "kind": "threshold",
    "metric": "faithfulness",
    "window_s": 3600,
    "hold_for_s": 600,
    "params": {"below": 0.8},
}
BAD_HOURS = ((30, 33), (120, 121), (200, 260))


def scores(series: Series, window: Window) -> Estimate:
    """Two weeks before the present: blind for the first hours, bad in some."""
    hour = (window.end - (EPOCH - timedelta(days=14))) / timedelta(hours=1)
    if hour < 7:
        return estimate(0.9, 3)
    return estimate(0.5 if any(a <= hour < b for a, b in BAD_HOURS) else 0.95)


def replaying(asked: list[ReplayBounds | None] | None = None) -> Services:
    """Services whose dry runs are real ones, over made-up numbers."""

    def run(
        rule: AlertRule, since: datetime, until: datetime, bounds: ReplayBounds | None = None
    ) -> Replay:
        if asked is not None:
            asked.append(bounds)
        return replay(rule, FakeEstimates(scores=scores), since, until)

    return replace(make_services(), check_rule=check_rule, replay_rule=run)


def with_replay(replayed: Replay) -> Services:
    def run(
        rule: AlertRule, since: datetime, until: datetime, bounds: ReplayBounds | None = None
    ) -> Replay:
        return replayed

    return replace(make_services(), check_rule=check_rule, replay_rule=run)


async def ask(
    client: httpx.AsyncClient, form: dict[str, str], language: str = "en", fragment: str = "yes"
) -> httpx.Response:
    token = token_of((await client.get("/settings")).text)
    sent = {"token": token, "original": "", **form}
    if fragment:
        sent["fragment"] = fragment
    return await client.post(f"/ui/rules/preview?lang={language}", data=sent)


async def test_the_fragment_says_what_the_dry_run_of_the_interface_says() -> None:
    services = replaying()
    async with open_client(services, headers=HTML) as client:
        text = (await ask(client, RULE)).text
        answer = await client.post("/api/v1/rules/check?days=14", json=JSON)

    (app,) = answer.json()["history"]["apps"].values()
    assert app["fired"] == 3
    share = 100 * app["untold"] / app["looks"]
    assert f"It would have fired {app['fired']} times in 14 days." in text
    assert f"It could not tell {share:.1f}% of the time." in text
    fired = [datetime.fromisoformat(one["fired_at"]) for one in app["episodes"]]
    shown = re.findall(r'<li><time datetime="([^"]*)">', text)
    assert [datetime.fromisoformat(moment) for moment in shown] == sorted(fired, reverse=True)
    assert len(text) < 5000
    assert "<html" not in text


async def test_it_is_told_in_chinese_in_the_zone_that_is_set() -> None:
    async with open_client(replaying(), headers=HTML) as client:
        client.cookies.set("rag_monitor_zone", "Asia/Shanghai")
        text = (await ask(client, RULE, "zh")).text

    fired = EPOCH - timedelta(days=14) + timedelta(hours=200, minutes=10) + timedelta(hours=8)
    assert "14 天内会告警 3 次。" in text
    assert "的时间看不出。" in text
    assert f">{fired:%m-%d %H:%M}</time>" in text


async def test_a_rule_that_would_not_have_fired_or_could_not_is_told_so() -> None:
    async with open_client(replaying(), headers=HTML) as client:
        quiet = (await ask(client, RULE | {"params.threshold.below": "0.2"})).text
        unnamed = (await ask(client, RULE | {"name": ""})).text
    since = EPOCH - timedelta(days=14)
    looks = {"a": AppReplay(looks=4032, untold=4032)}
    untold = Replay(since=since, until=EPOCH, every=timedelta(minutes=5), apps=looks)
    async with open_client(with_replay(untold), headers=HTML) as client:
        blind = (await ask(client, RULE)).text
    async with open_client(with_replay(replace(untold, apps={})), headers=HTML) as client:
        empty = (await ask(client, RULE)).text

    assert "It would not have fired in 14 days." in quiet
    assert "It could not have fired: at no look was there enough to tell." in blind
    assert "There is no app yet that it could watch." in empty
    assert "It would have fired 3 times" in unnamed, "a rule is tried before it has a name"


async def test_without_a_script_a_button_shows_the_same_below_the_form() -> None:
    services = replaying()
    async with open_client(services, headers=HTML) as client:
        fragment = (await ask(client, RULE)).text
        page = await ask(client, RULE, fragment="")

    inner = fragment.split('<div data-beside="preview">')[1].split("</div>")[0]
    below = page.text.split('data-beside="preview">')[1].split("</div>")[0]
    assert page.status_code == 200
    assert below.split() == inner.split()
    assert 'name="params.threshold.below" value="80 %"' in page.text
    assert 'data-beside="window_s">= 1 h<' in page.text
    assert 'formaction="/ui/rules/preview#preview">Try</button>' in page.text
    assert "low" not in {rule.name for rule in services.rules.all("default")}


async def test_a_form_that_cannot_be_read_is_not_tried_and_told_beside_its_fields() -> None:
    asked: list[ReplayBounds | None] = []
    async with open_client(replaying(asked), headers=HTML) as client:
        fragment = await ask(client, RULE | {"window_s": "90", "hold_for_s": "2 d"})
        page = await ask(client, RULE | {"window_s": "90"}, fragment="")

    assert asked == []
    assert fragment.status_code == 200
    assert '<p data-beside="window_s"><span class="wrong">say whether it is 90 s' in fragment.text
    assert '<p data-beside="hold_for_s">= 2 d</p>' in fragment.text
    assert "Tried once the marked fields are corrected." in fragment.text
    assert page.status_code == 422
    assert "Not tried" in page.text


async def test_a_name_that_another_rule_has_is_told_while_it_is_typed() -> None:
    async with open_client(replaying(), headers=HTML) as client:
        text = (await ask(client, RULE | {"name": "faithfulness drop"})).text

    assert '<p data-beside="name"><span class="wrong">another rule is called' in text


async def test_it_is_stopped_after_a_few_seconds() -> None:
    asked: list[ReplayBounds | None] = []
    async with open_client(replaying(asked), headers=HTML) as client:
        await ask(client, RULE)

    assert asked == [rule_preview.BOUNDS]
    assert rule_preview.BOUNDS.within_s <= 6.0
    assert rule_preview.BOUNDS.looks <= 5_000


async def test_of_many_apps_it_says_that_it_looked_less_often() -> None:
    since = EPOCH - timedelta(days=14)
    apps = {"a": AppReplay(looks=300)}
    one = Replay(since=since, until=EPOCH, every=timedelta(minutes=5), apps=apps)
    many = replace(one, every=timedelta(minutes=60))
    async with open_client(with_replay(one), headers=HTML) as client:
        close = (await ask(client, RULE)).text
    async with open_client(with_replay(many), headers=HTML) as client:
        coarse = (await ask(client, RULE)).text

    assert "Looked every" not in close
    assert "Looked every 1 h, because there are many apps" in coarse


async def test_a_run_that_was_stopped_claims_nothing_for_the_whole_time() -> None:
    episode = Episode(app="a", fired_at=EPOCH, resolved_at=EPOCH, summary="")
    stopped = Replay(
        since=EPOCH - timedelta(days=14),
        until=EPOCH,
        every=timedelta(minutes=5),
        apps={
            "a": AppReplay(looks=4032, episodes=(episode,)),
            "<b>": AppReplay(looks=7, stopped_at=EPOCH - timedelta(days=3)),
        },
        left_out=("c", "d"),
    )
    async with open_client(with_replay(stopped), headers=HTML) as client:
        text = (await ask(client, RULE)).text

    assert "in 14 days" not in text
    assert "It fired 1 time as far as it was tried." in text
    assert "After 6 s it was stopped:" in text
    assert "&lt;b&gt; up to 01-02 12:00." in text
    assert "2 apps were left out." in text


async def test_many_times_are_shown_in_part() -> None:
    episodes = tuple(
        Episode(app="a", fired_at=EPOCH - timedelta(hours=n), resolved_at=EPOCH, summary="")
        for n in range(40)
    )
    many = Replay(
        since=EPOCH - timedelta(days=14),
        until=EPOCH,
        every=timedelta(minutes=5),
        apps={"a": AppReplay(looks=4032, episodes=episodes)},
    )
    async with open_client(with_replay(many), headers=HTML) as client:
        text = (await ask(client, RULE)).text

    assert "It would have fired 40 times in 14 days." in text
    assert text.count("<li>") == rule_preview.MAX_SHOWN
    assert f"The newest {rule_preview.MAX_SHOWN} are shown." in text


async def test_only_so_many_run_at_once_and_the_others_are_asked_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[ReplayBounds | None] = []
    async with open_client(replaying(asked), headers=HTML) as client:
        for _ in range(rule_preview.AT_ONCE):
            assert rule_preview._turns.acquire(blocking=False)
        try:
            busy = (await ask(client, RULE)).text
        finally:
            for _ in range(rule_preview.AT_ONCE):
                rule_preview._turns.release()
        free = (await ask(client, RULE)).text

    assert 'data-again="2"' in busy
    assert len(asked) == 1
    assert "It would have fired" in free


async def test_a_run_that_fails_gives_its_turn_back() -> None:
    def broken(
        rule: AlertRule, since: datetime, until: datetime, bounds: ReplayBounds | None = None
    ) -> Replay:
        raise RuntimeError

    services = replace(make_services(), check_rule=check_rule, replay_rule=broken)
    async with open_client(services, headers=HTML) as client:
        for _ in range(rule_preview.AT_ONCE + 1):
            assert (await ask(client, RULE)).status_code == 503
    async with open_client(replaying(), headers=HTML) as client:
        assert "It would have fired" in (await ask(client, RULE)).text


@pytest.mark.parametrize("fragment", ["", "yes"])
async def test_a_preview_needs_the_token_of_the_session(fragment: str) -> None:
    asked: list[ReplayBounds | None] = []
    async with open_client(replaying(asked), headers=HTML) as client:
        await client.get("/settings")
        wrong = await client.post(
            "/ui/rules/preview", data=RULE | {"token": "wrong", "fragment": fragment}
        )

    assert wrong.status_code == 403
    assert asked == []


@pytest.mark.parametrize(("scope", "status"), [(KeyScope.READ, 403), (KeyScope.WRITE, 200)])
async def test_only_who_may_change_rules_is_offered_and_given_a_preview(
    locked: Services, scope: KeyScope, status: int
) -> None:
    services = replace(locked, check_rule=check_rule, replay_rule=replaying().replay_rule)
    secret, _ = services.keys.create("default", "k", {KeyScope.READ, scope})
    async with open_client(services, headers=HTML | {"x-api-key": secret}) as client:
        page = (await client.get("/settings")).text
        answer = await ask(client, RULE)

    assert answer.status_code == status
    assert ('data-live="/ui/rules/preview"' in page) is (scope is KeyScope.WRITE)
    assert (">Try</button>" in page) is (scope is KeyScope.WRITE)


async def test_the_preview_of_a_page_elsewhere_is_refused() -> None:
    asked: list[ReplayBounds | None] = []
    async with open_client(replaying(asked), headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        foreign = await client.post(
            "/ui/rules/preview",
            data=RULE | {"token": token, "fragment": "yes"},
            headers={"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        )

    assert foreign.status_code == 403
    assert asked == []


def counting(most: int) -> Callable[[], bool]:
    """Says stop from the `most`-th question on."""
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > most

    return stop


def test_a_replay_is_stopped_between_two_looks_and_says_where() -> None:
    rule = AlertRule(name="r", kind="threshold", metric="faithfulness", params={"below": 0.8})  # type: ignore[arg-type]
    source = FakeEstimates(scores=scores, names=["a", "b", "c"])
    since = EPOCH - timedelta(days=14)

    whole = replay(rule, source, since, EPOCH)
    stopped = replay(rule, source, since, EPOCH, stop=counting(whole.apps["a"].looks + 50))
    none = replay(rule, source, since, EPOCH, stop=lambda: True)
    coarse = replay(rule, source, since, EPOCH, max_looks=4_100)

    assert whole.complete
    assert list(stopped.apps) == ["a", "b"]
    assert stopped.apps["a"] == whole.apps["a"]
    b = stopped.apps["b"]
    assert b.stopped_at == since + (b.looks - 1) * stopped.every
    assert 0 < b.looks < 60
    assert (stopped.left_out, stopped.complete) == (("c",), False)
    assert coarse.looks <= 4_100
    assert coarse.every == timedelta(minutes=15)
    assert (none.apps, none.left_out, none.looks) == ({}, ("a", "b", "c"), 0)
