"""The page of one alert, and the actions that chat messages link: a link only asks."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
import pytest

from rag_monitor.alerting.alert_actions import AlertAction
from rag_monitor.alerting.messages import compose
from rag_monitor.domain.alert import Alert, AlertState, Finding, Notification, Silence
from rag_monitor.domain.incident import Incident, IncidentAlert
from rag_monitor.domain.stored import KeyScope
from rag_monitor.server.services import Services
from rag_monitor.store.outbox import Announcement
from rag_monitor.testing import EPOCH
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML, token_of

PAGE = "/alerts/al-1"


@pytest.fixture
async def browser(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(services, headers=HTML) as client:
        yield client


def alert_of(services: Services, id: str = "al-1") -> Alert:
    alert: Alert = services.alerts.get("default", id)
    return alert


def put(services: Services, alert: Alert) -> None:
    services.alerts.alerts[alert.id] = alert  # type: ignore[attr-defined]


def silences(services: Services) -> list[tuple[str, str, timedelta]]:
    """Rule, app and what is left of every silence."""
    now = services.clock.now()
    return [(one.rule, one.app, one.ends_at - now) for one in services.silences.all("default")]


def buttons(text: str) -> dict[str, str]:
    """The fields of the form that the page asks with, and of its button."""
    panel = text.split('id="act">')[1].split("</section>")[0]
    form = panel.split("<form ")[1].split("</form>")[0]
    assert form.count("<button") == 1
    return dict(re.findall(r'name="([^"]*)" value="([^"]*)"', form))


async def test_an_alert_has_a_page_with_what_the_list_shows_of_it(
    browser: httpx.AsyncClient, services: Services
) -> None:
    listed = (await browser.get("/alerts")).text
    text = (await browser.get(PAGE)).text

    assert f'href="{PAGE}"' in listed
    assert alert_of(services).rule in text
    assert text.count('<article class="alert firing"') == 1
    assert 'id="act"' not in text
    for action in AlertAction:
        assert f'name="do" value="{action}"' in text


async def test_an_alert_that_is_over_shows_what_it_fired_for_and_no_buttons(
    browser: httpx.AsyncClient, services: Services
) -> None:
    over = replace(
        alert_of(services),
        state=AlertState.RESOLVED,
        resolved_at=EPOCH,
        finding=Finding(active=False, summary="all is well"),
        evidence=Finding(active=True, summary="it was <bad>"),
    )
    put(services, over)

    text = (await browser.get(PAGE, params={"do": "snooze-1h"})).text

    assert "it was &lt;bad&gt;" in text
    assert "all is well" not in text
    assert "This alert is over" in text
    assert 'name="do"' not in text


@pytest.mark.parametrize("path", ["/alerts/nothing", "/alerts/x%2Fy", f"/alerts/{'a' * 500}"])
async def test_an_alert_that_is_not_there_is_not_found(
    browser: httpx.AsyncClient, path: str
) -> None:
    assert (await browser.get(path)).status_code == 404


@pytest.mark.parametrize("action", AlertAction)
async def test_a_link_asks_and_changes_nothing(
    browser: httpx.AsyncClient, services: Services, action: AlertAction
) -> None:
    before = alert_of(services)
    for method in ("GET", "HEAD"):
        await browser.request(method, PAGE, params={"do": action.value})
    answer = await browser.get(PAGE, params={"do": action.value})
    led_away = await browser.get("/ui/alerts/act", params={"id": "al-1", "do": action.value})

    assert answer.status_code == 200
    assert buttons(answer.text)["do"] == action.value
    assert (led_away.status_code, led_away.headers["location"]) == (303, "/alerts")
    assert alert_of(services) == before
    assert silences(services) == []
    assert services.audit.events == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("action", "left"),
    [
        ("snooze-1h", timedelta(hours=1)),
        ("snooze-8h", timedelta(hours=8)),
        ("snooze-morning", timedelta(hours=13)),
    ],
)
async def test_the_button_snoozes_the_rule_on_the_app(
    browser: httpx.AsyncClient, services: Services, action: str, left: timedelta
) -> None:
    """It is noon UTC in the tests, eight in the evening in Shanghai."""
    browser.cookies.set("rag_monitor_zone", "Asia/Shanghai")
    asked = (await browser.get(PAGE, params={"do": action})).text
    ends_at = services.clock.now() + left + timedelta(hours=8)

    done = await browser.post("/ui/alerts/act", data=buttons(asked))

    alert = alert_of(services)
    assert f"until {ends_at:%Y-%m-%d %H:%M} (Asia/Shanghai)" in asked
    assert (done.status_code, done.headers["location"]) == (303, PAGE)
    assert silences(services) == [(alert.rule, alert.app, left)]
    event = services.audit.events[-1]  # type: ignore[attr-defined]
    assert event.action == "silence.create"
    assert event.details["rule"] == alert.rule
    assert "silenced until" in (await browser.get(PAGE)).text


async def test_the_button_acknowledges(browser: httpx.AsyncClient, services: Services) -> None:
    asked = (await browser.get(PAGE, params={"do": "acknowledge"})).text
    await browser.post("/ui/alerts/act", data=buttons(asked))
    again = (await browser.get(PAGE, params={"do": "acknowledge"})).text

    assert alert_of(services).acknowledged_by
    assert services.audit.events[-1].action == "alert.acknowledge"  # type: ignore[attr-defined]
    assert "This is done already." in again


async def test_pressed_twice_one_snooze_is_made_and_a_longer_one_extends_it(
    browser: httpx.AsyncClient, services: Services
) -> None:
    form = {"token": token_of((await browser.get(PAGE)).text), "id": "al-1"}
    for action in ("snooze-8h", "snooze-8h", "snooze-1h"):
        await browser.post("/ui/alerts/act", data=form | {"do": action})
    shorter = (await browser.get(PAGE, params={"do": "snooze-1h"})).text
    await browser.post("/ui/alerts/act", data=form | {"do": "snooze-morning"})

    assert "This is done already." in shorter
    assert [left for _, _, left in silences(services)] == [timedelta(hours=8), timedelta(hours=21)]


async def test_an_alert_that_is_over_is_not_silenced_for_its_next_time(
    browser: httpx.AsyncClient, services: Services
) -> None:
    form = {"token": token_of((await browser.get(PAGE)).text), "id": "al-1", "do": "snooze-1h"}
    put(services, replace(alert_of(services), state=AlertState.RESOLVED))

    assert (await browser.post("/ui/alerts/act", data=form)).status_code == 303
    assert silences(services) == []


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"do": "explode"}, 422), ({"do": ""}, 422), ({"id": "nothing"}, 404), ({"id": ""}, 404)],
)
async def test_a_form_that_makes_no_sense_changes_nothing(
    browser: httpx.AsyncClient, services: Services, fields: dict[str, str], status: int
) -> None:
    form = {"token": token_of((await browser.get(PAGE)).text), "id": "al-1", "do": "snooze-1h"}

    assert (await browser.post("/ui/alerts/act", data=form | fields)).status_code == status
    assert silences(services) == []


async def test_an_action_that_there_is_not_is_told(browser: httpx.AsyncClient) -> None:
    text = (await browser.get(PAGE, params={"do": "snooze-<9h>"})).text

    assert "<code>do=snooze-&lt;9h&gt;</code>" in text
    assert 'id="act"' not in text


@pytest.mark.parametrize("back", ["https://evil.example", "//evil.example", "/\\evil"])
async def test_a_form_leads_to_pages_of_ours_only(browser: httpx.AsyncClient, back: str) -> None:
    form = {"token": token_of((await browser.get(PAGE)).text), "id": "al-1", "do": "snooze-1h"}
    answer = await browser.post("/ui/alerts/act", data=form | {"back": back})

    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("scope", [KeyScope.READ, KeyScope.WRITE])
async def test_who_may_only_look_gets_no_button_and_is_refused(
    locked: Services, scope: KeyScope
) -> None:
    secret, _ = locked.keys.create("default", "k", {KeyScope.READ, scope})
    async with open_client(locked, headers=HTML | {"x-api-key": secret}) as client:
        text = (await client.get(PAGE, params={"do": "snooze-1h"})).text
        form = {"token": token_of(text), "id": "al-1", "do": "snooze-1h"}
        answer = await client.post("/ui/alerts/act", data=form)

    may = scope is KeyScope.WRITE
    assert ('name="do"' in text) is may
    assert answer.status_code == (303 if may else 403)
    assert len(silences(locked)) == may


async def test_whoever_follows_a_link_signs_in_first_and_is_then_asked(locked: Services) -> None:
    async with open_client(locked, headers=HTML) as client:
        sent_away = await client.get(PAGE, params={"do": "snooze-1h"})
        login = sent_away.headers["location"]
        token = token_of((await client.get(login)).text)
        signed_in = await client.post(login, data={"token": token, "key": "master-key"})
        target = signed_in.headers["location"]
        asked = (await client.get(target)).text

    assert sent_away.status_code == 303
    assert login.startswith("/login?next=")
    assert target == f"{PAGE}?do=snooze-1h"
    assert buttons(asked)["do"] == "snooze-1h"
    assert silences(locked) == []


def incident_of(services: Services, *ids: str) -> Incident:
    """Firing alerts of one app that began together."""
    first = alert_of(services)
    alerts = [replace(first, id=id, rule=f"rule of {id}", state=AlertState.FIRING) for id in ids]
    for alert in alerts:
        put(services, alert)
    incident = Incident(
        id="in-1",
        project="default",
        app=first.app,
        began_at=EPOCH,
        alerts=tuple(
            IncidentAlert(id=alert.id, rule=alert.rule, started_at=EPOCH, fired_at=EPOCH)
            for alert in alerts
        ),
    )
    services.incidents.incidents = [incident]  # type: ignore[attr-defined]
    return incident


async def test_the_links_of_a_message_lead_to_pages_that_ask(
    browser: httpx.AsyncClient, services: Services
) -> None:
    alert = alert_of(services)
    notice = Notification(
        dedup_key="al-1:firing",
        project="default",
        channel="oncall",
        alert=alert,
        event="firing",
        created_at=EPOCH,
    )
    (item,) = compose([notice], "en", "https://rag.example.com/").items
    (over,) = compose([replace(notice, event="resolved")], "en", "https://rag.example.com").items
    (local,) = compose([notice], "en", None).items
    links = {link.label: link.url for link in item.links}

    assert links["alert"] == "https://rag.example.com/alerts/al-1"
    assert links["acknowledge"] == "https://rag.example.com/alerts/al-1?do=acknowledge"
    assert links["snooze 1 h"] == "https://rag.example.com/alerts/al-1?do=snooze-1h"
    for label in ("acknowledge", "snooze 1 h"):
        place = urlsplit(links[label])
        assert buttons((await browser.get(f"{place.path}?{place.query}")).text)
        assert label not in {link.label for link in (*over.links, *local.links)}


async def test_the_links_of_an_incident_are_about_all_of_its_alerts(
    browser: httpx.AsyncClient, services: Services
) -> None:
    incident = incident_of(services, "al-1", "al-7", "al-8")
    put(services, replace(alert_of(services, "al-8"), state=AlertState.RESOLVED))
    put(services, replace(alert_of(services, "al-7"), id="al-9", rule="apart"))
    notices = [
        Notification(
            dedup_key=f"{part.id}:firing",
            project="default",
            channel="oncall",
            alert=alert_of(services, part.id),
            event="firing",
            created_at=EPOCH,
            incident=incident,
        )
        for part in incident.alerts
    ]
    (item,) = compose(notices, "en", "https://rag.example.com").items
    link = next(link for link in item.links if link.label == "snooze 1 h")
    place = urlsplit(link.url)

    asked = (await browser.get(f"{place.path}?{place.query}")).text
    await browser.post("/ui/alerts/act", data=buttons(asked))

    assert re.findall(r"<li><b>(.*?)</b>", asked) == ["rule of al-1", "rule of al-7"]
    assert {rule for rule, _, _ in silences(services)} == {"rule of al-1", "rule of al-7"}


def steps(text: str) -> list[str]:
    """The history, without markup and without how long ago each step was."""
    panel = text.split('id="history">')[1].split("</section>")[0]
    rows = re.findall(r"<li[^>]*>.*?</time>\s*</span> (.*?)</li>", panel, re.S)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in rows]


async def test_the_history_says_what_happened_and_who_did_it(
    browser: httpx.AsyncClient, services: Services
) -> None:
    alert = alert_of(services)
    start = alert.started_at
    fired = start + timedelta(minutes=5)
    put(
        services,
        replace(
            alert,
            state=AlertState.RESOLVED,
            fired_at=fired,
            acknowledged_by="<b>mo",
            acknowledged_at=start + timedelta(minutes=8),
            resolved_at=start + timedelta(minutes=59),
        ),
    )
    services.outbox.messages["al-1"] = [  # type: ignore[attr-defined]
        Announcement(
            channel=channel,
            event=event,
            created_at=fired,
            sent_at=None if sent is None else start + timedelta(minutes=sent),
            given_up=given_up,
        )
        for channel, event, sent, given_up in (
            ("slack", "firing", 6, False),
            ("mail", "firing", None, True),
            ("slack", "repeat", 30, False),
            ("slack", "resolved", 60, False),
        )
    ]
    silence = Silence(
        id="s1",
        project="default",
        rule=alert.rule,
        app=alert.app,
        starts_at=start + timedelta(minutes=10),
        ends_at=start + timedelta(minutes=20),
        created_by="amy",
        comment="known",
    )
    services.silences.add(silence)
    ends = start + timedelta(minutes=40)
    later = replace(
        silence, id="s2", app="*", starts_at=start + timedelta(minutes=25), ends_at=ends
    )
    services.silences.add(later)
    services.silences.add(replace(silence, id="s3", app="another"))
    services.silences.add(replace(silence, id="s4", ends_at=start - timedelta(minutes=1)))

    told = steps((await browser.get(PAGE)).text)

    def at(minutes: int) -> str:
        return (start + timedelta(minutes=minutes)).strftime("%m-%d %H:%M")

    assert told == [
        f"The condition was first met {at(0)}",
        f"It fired {at(5)}",
        f"Could not be announced on mail {at(5)}",
        f"Announced on slack {at(6)}",
        f"Acknowledged <b>mo {at(8)}",
        f"Snoozed until {at(20)} amy known {at(10)}",
        f"Silenced until {at(40)} amy known {at(25)}",
        f"Announced again on slack {at(30)}",
        f"It was over {at(59)}",
        f"Announced on slack that it is over {at(60)}",
    ]


async def test_the_history_remembers_a_silence_that_somebody_ended(
    browser: httpx.AsyncClient, services: Services
) -> None:
    text = (await browser.get(PAGE)).text
    form = {"token": token_of(text), "id": "al-1", "do": "snooze-1h"}
    await browser.post("/ui/alerts/act", data=form)
    (made,) = services.silences.all("default")
    before = steps((await browser.get(PAGE)).text)
    await browser.post("/ui/silences/delete", data={"token": token_of(text), "id": made.id})

    after = steps((await browser.get(PAGE)).text)

    assert sum(step.startswith("Snoozed until") for step in before) == 1
    assert sum(step.startswith("Snoozed until") for step in after) == 1
    assert any(step.startswith("The silence was ended") for step in after)
